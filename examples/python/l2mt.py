"""Estimators in the way of scikit-learn that run the program l2mt.

    model = L2MTRegressor(task="school").fit(X, y)     # X is a data frame or an array
    model.predict(X), model.predict_interval(X, 0.9)

NumPy and pandas are all that they take. scikit-learn, where it is installed, gives the base class.
Tables go through CSV files in a temporary folder; a fitted estimator holds the files of its model,
so that it can be pickled.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import pandas as pd

try:
    from sklearn.base import BaseEstimator
except ImportError:

    class BaseEstimator:
        """The part of scikit-learn's class that is needed here."""

        def get_params(self, deep=True):
            names = self.__init__.__code__.co_varnames[1 : self.__init__.__code__.co_argcount]
            return {name: getattr(self, name) for name in names}

        def set_params(self, **params):
            for name, value in params.items():
                if name not in self.get_params():
                    raise ValueError(f"Invalid parameter {name!r} for estimator {self}")
                setattr(self, name, value)
            return self


class L2MTError(ValueError):
    """What the program says of a table that it refuses."""


class L2MTWarning(UserWarning):
    """What the program remarks on a table."""


TARGET = "l2mt target"  # the column of the labels in the files
PROGRESS = re.compile(r"^[a-z ]+: \d+(/\d+)?, ")


class _L2MT(BaseEstimator):
    def __init__(self, task=None, view=None, model=None, options=(), binary="l2mt", verbose=False):
        self.task = task  # the column of X, by name or number, that names the task of a row
        self.view = view  # straight, curves or kernel
        self.model = model
        self.options = options  # further words of the command line of l2mt fit
        self.binary = binary
        self.verbose = verbose

    def _more_tags(self):  # scikit-learn before 1.6
        return {"allow_nan": True, "poor_score": False}

    def __sklearn_tags__(self):  # since 1.6
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.estimator_type = self._estimator_type
        return tags

    def fit(self, X, y, groups=None, sample_weight=None):
        """Fit the rows of X. Rows of one of the groups are held out together. Weights say how much rows count."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        table = self._table(X, first=True)
        flags = ["--target", TARGET, "--kind", self._kind]
        y = self._y(y, len(table))
        if groups is not None:
            table["l2mt group"] = np.asarray(groups)
            flags += ["--group", "l2mt group"]
        if sample_weight is not None:
            table["l2mt weight"] = np.asarray(sample_weight, dtype=float)
            flags += ["--weight", "l2mt weight"]
            counts = table["l2mt weight"] != 0
            table, y = table[counts], y[counts]
        table = table.assign(**{TARGET: self._labels(y, len(table))})
        for flag, value in [("task", self._column()), ("view", self.view), ("model", self.model)]:
            if value is not None:
                flags += ["--" + flag, value]
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            table.to_csv(folder / "fit.csv", index=False)
            self._run("fit", folder / "fit.csv", *flags, *self.options, "--out", folder / "model")
            files = [f for f in sorted((folder / "model").rglob("*")) if f.is_file()]
            self.files_ = {str(f.relative_to(folder / "model")): f.read_bytes() for f in files}
        self.adapted_ = None
        return self

    def adapt(self, X, y):
        """Give the tasks of these rows, which are new, their posterior; the fit stays as it is."""
        table = self._table(X)
        table[TARGET] = self._labels(y, len(table), first=False)
        self.adapted_ = table.to_csv(index=False)
        return self

    def predict_table(self, X, level=None):
        """The table that l2mt predict writes of the rows."""
        table = self._table(X)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, content in self.files_.items():
                (folder / "model" / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / "model" / name).write_bytes(content)
            table.to_csv(folder / "rows.csv", index=False)
            flags = ["--model", folder / "model", "--out", folder / "out.csv"]
            if self.adapted_ is not None:
                (folder / "new.csv").write_text(self.adapted_)
                flags += ["--adapt", folder / "new.csv"]
            if level is not None:
                flags += ["--interval", level]
            self._run("predict", folder / "rows.csv", *flags)
            return pd.read_csv(folder / "out.csv", dtype={"task": str}, keep_default_na=False, na_values=[""])

    def _column(self):
        if isinstance(self.task, (int, np.integer)):
            return self.names_[self.task]
        return self.task

    def _table(self, X, first=False):
        """X as a data frame that the program knows by the names of its columns."""
        if not first and not hasattr(self, "n_features_in_"):
            raise _not_fitted(self)
        if hasattr(X, "toarray"):
            raise TypeError("A sparse matrix was passed, but dense data is required; give X.toarray()")
        named = isinstance(X, pd.DataFrame)
        frame = X.copy() if named else np.asarray(X)
        if np.iscomplexobj(frame):
            raise ValueError("Complex data not supported")
        if frame.ndim != 2:
            raise ValueError(f"Expected 2D array, got {frame.ndim}D array instead. Reshape your data")
        for k, what in enumerate(["sample", "feature"]):
            least = 2 if first and what == "sample" else 1
            if frame.shape[k] < least:
                raise ValueError(
                    f"Found array with {frame.shape[k]} {what}(s) (shape={frame.shape}) while a minimum of {least} is required."
                )
        names = [str(c) for c in X.columns] if named else [f"x{i}" for i in range(frame.shape[1])]
        words = named and all(isinstance(c, str) for c in X.columns)
        if first:
            self.n_features_in_ = len(names)
            self.names_ = names
            if words:
                self.feature_names_in_ = np.array(names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        else:
            self._same(names, words)
        frame = pd.DataFrame(frame).set_axis(self.names_, axis=1)
        for name in frame.columns[frame.dtypes == object]:
            try:
                frame[name] = pd.to_numeric(frame[name])
            except (ValueError, TypeError):
                if not frame[name].map(lambda v: v is None or np.isscalar(v)).all():
                    raise TypeError(f"argument must be a string or a number: column {name!r} has other objects")
        numbers = frame.select_dtypes("number")
        if np.isinf(numbers.to_numpy(float)).any():
            raise ValueError("Input X contains infinity")
        return frame

    def _same(self, names, words):
        """Refuse columns that are others than those of the fit."""
        fitted = hasattr(self, "feature_names_in_")
        if fitted and words and names != self.names_:
            said = "The feature names should match those that were passed during fit.\n"
            unseen = sorted(set(names) - set(self.names_))
            lacks = sorted(set(self.names_) - set(names))
            if unseen:
                said += "Feature names unseen at fit time:\n" + "".join(f"- {n}\n" for n in unseen)
            if lacks:
                said += "Feature names seen at fit time, yet now missing:\n" + "".join(f"- {n}\n" for n in lacks)
            if not unseen and not lacks:
                said += "Feature names must be in the same order as they were in fit.\n"
            raise ValueError(said)
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"X has {len(names)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        if fitted != words:
            has, had = ("X has", "was fitted without") if words else ("X does not have valid", "was fitted with")
            warnings.warn(f"{has} feature names, but {type(self).__name__} {had} feature names")

    def _y(self, y, rows):
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            warnings.warn("A column-vector y was passed when a 1d array was expected", _conversion())
            y = y[:, 0]
        if y.ndim != 1:
            raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
        if len(y) != rows:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: [{rows}, {len(y)}]")
        if np.iscomplexobj(y):
            raise ValueError("Complex data not supported")
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity")
        return y

    def _run(self, command, *words):
        """Run the program. Its remarks are warnings, and its error an exception."""
        line = [self.binary, command, *map(str, words), "--header", "yes"]
        said, progress = [], False
        with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as p:
            try:
                for text in p.stderr:
                    broken = text.startswith("  ")  # a piece of the line before, which is a long one
                    progress = progress if broken else PROGRESS.match(text)
                    if progress:
                        if self.verbose:
                            print(text, end="", file=sys.stderr)
                    elif broken and said:
                        said[-1] += " " + text.strip()
                    else:
                        said.append(text.strip())
                code = p.wait()
            except KeyboardInterrupt:  # the program gets the signal too
                p.terminate()
                p.wait()
                raise
        if code != 0:
            raise L2MTError("\n".join(said[-3:]).removeprefix("l2mt: "))
        for text in said:
            warnings.warn(text, L2MTWarning, stacklevel=4)


def _not_fitted(estimator):
    text = f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' first."
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return AttributeError(text)
    return NotFittedError(text)


def _conversion():
    try:
        from sklearn.exceptions import DataConversionWarning
    except ImportError:
        return UserWarning
    return DataConversionWarning


class L2MTRegressor(_L2MT):
    """Numbers, of related tasks."""

    _estimator_type = "regressor"
    _kind = "regression"

    def _labels(self, y, rows, first=True):
        return self._y(y, rows).astype(float)

    def predict(self, X):
        return self.predict_table(X)["prediction"].to_numpy(float)

    def predict_interval(self, X, level=0.9):
        """Rows of low and high, between which the target lies with this probability."""
        return self.predict_table(X, level)[["low", "high"]].to_numpy(float)

    def score(self, X, y):
        """The share of the variance that is explained, R^2."""
        y = self._labels(y, len(X))
        return 1 - ((y - self.predict(X)) ** 2).sum() / ((y - y.mean()) ** 2).sum()


class L2MTClassifier(_L2MT):
    """Classes, of related tasks."""

    _estimator_type = "classifier"
    _kind = "classification"

    def _labels(self, y, rows, first=True):
        y = self._y(y, rows)
        if y.dtype.kind == "f" and (y != y.astype(int)).any():
            raise ValueError("Unknown label type: continuous; classes are words or whole numbers")
        if first:
            self.classes_ = np.unique(y)
            if len(self.classes_) < 2:
                raise ValueError("Classifier can't train when only one class is present.")
        return np.searchsorted(self.classes_, y)

    def predict_proba(self, X):
        """The probability of each of classes_."""
        table = self.predict_table(X)
        columns = [f"probability of {k}" for k in range(len(self.classes_))]
        if len(self.classes_) == 2:
            table[columns[0]] = 1 - table[columns[1]]
        return table[columns].fillna(0).to_numpy(float)

    def predict(self, X):
        table = self.predict_table(X)
        return self.classes_[table["prediction"].to_numpy(int)]

    def score(self, X, y):
        """The share of rows whose class is right."""
        return float((self.predict(X) == np.asarray(y)).mean())
