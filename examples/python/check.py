"""Checks of the estimators, with scikit-learn: python3 check.py PROGRAM"""

import os
import pathlib
import pickle
import re
import sys
import tempfile
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.datasets import make_regression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

import l2mt
import reader

warnings.simplefilter("ignore")
program = sys.argv[1]

# Checks that do not apply, and why.
APART = {
    "check_estimators_dtypes": "its target is a column, which the program takes for a mistake",
}


def check_scikit_learn():
    for estimator in [l2mt.L2MTRegressor(binary=program, view="curves"), l2mt.L2MTClassifier(binary=program, view="curves")]:
        for one, check in estimator_checks.check_estimator(estimator, generate_only=True):
            name = getattr(check, "func", check).__name__
            begin = time.time()
            if name in APART:
                continue
            try:
                check(one)
            except Exception as error:
                print("FAILED", type(estimator).__name__, name, type(error).__name__, str(error)[:300])
                failed.append(name)
            if time.time() - begin > 2:
                print(f"{name} took {time.time() - begin:.1f} s")


def table(rows=120):
    r = np.random.default_rng(1)
    X = pd.DataFrame({"place": r.choice(["a", "b", "c"], rows), "heat": r.normal(size=rows), "day": r.choice(["x", "y"], rows)})
    y = X.heat * 2 + X.place.map({"a": 0, "b": 3, "c": -2}) + (X.day == "x") + 0.1 * r.normal(size=rows)
    return X, y


def check_frames():
    X, y = table()
    model = l2mt.L2MTRegressor(task="place", binary=program).fit(X, y, groups=X.index // 2)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all()
    assert model.score(X, y) > 0.98, model.score(X, y)
    low, high = model.predict_interval(X, 0.8).T
    assert 0.7 < ((low < y) & (y < high)).mean() < 0.95
    classes = l2mt.L2MTClassifier(task="place", binary=program).fit(X, np.where(y > 0, "warm", "cold"))
    p = classes.predict_proba(X)
    assert np.allclose(p.sum(1), 1) and (classes.classes_[p.argmax(1)] == classes.predict(X)).all()


def check_adapt():
    X, y = table()
    model = l2mt.L2MTRegressor(task="place", view="curves", binary=program).fit(X, y)
    new = X.assign(place="new")
    before = model.score(new, y + 9)
    after = model.adapt(new[:20], y[:20] + 9).score(new[20:], y[20:] + 9)
    assert after > before + 1, (before, after)


def check_search():
    X, y = make_regression(90, 3, noise=1, random_state=0)
    search = GridSearchCV(l2mt.L2MTRegressor(binary=program), {"view": ["straight", "curves"]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    scores = cross_val_score(
        make_pipeline(StandardScaler(), l2mt.L2MTRegressor(view="straight", binary=program)), X, y, groups=np.arange(90) // 3, cv=GroupKFold(2))
    assert scores.min() > 0.9


def check_errors():
    X, y = table()
    try:
        l2mt.L2MTRegressor(task="nowhere", binary=program).fit(X, y)
    except l2mt.L2MTError as error:
        assert 'there is no column "nowhere"' in str(error), error
    else:
        raise AssertionError("a column that is not there is taken")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        l2mt.L2MTRegressor(task="place", view="kernel", binary=program).fit(X, y)
    assert any("the rows that it was fitted on" in str(w.message) for w in said), [str(w.message) for w in said]


def check_reader():
    """The reader has the numbers of the program; l2mt predict writes probabilities in six digits."""
    X, y = table()
    X = X.assign(more=X.heat.mask(X.index % 7 == 0), heat=10 * X.heat + 500)
    for labels in [y, y > y.median(), pd.qcut(y, 3, labels=False)]:
        for how in [{"view": "straight"}, {"view": "curves"}, {"view": "kernel"}, {"model": "mtrl"}, {}]:
            numbers = labels is y
            make = l2mt.L2MTRegressor if numbers else l2mt.L2MTClassifier
            model = make(task="place", binary=program, **how).fit(X, labels)
            with tempfile.TemporaryDirectory() as folder:
                for name, content in model.files_.items():
                    path = pathlib.Path(folder) / name
                    path.parent.mkdir(exist_ok=True)
                    path.write_bytes(content)
                for task in "abc":
                    rows = X[X.place == task]
                    want = model.predict(rows) if numbers else model.predict_proba(rows)
                    worst = np.abs(reader.predict(folder, rows, task) - want).max()
                    assert worst <= (1e-12 if numbers else 1e-6), (how, task, worst)


def check_docs():
    root = pathlib.Path(__file__).resolve().parents[2]
    os.chdir(root)
    os.environ["PATH"] = str(pathlib.Path(program).resolve().parent) + os.pathsep + os.environ["PATH"]
    blocks = re.findall(r"```python\n(.*?)```", (root / "docs" / "python.md").read_text(), re.S)
    names = {}
    for block in blocks:
        exec(block, names)
    assert len(blocks) >= 2 and names["model"].score(names["X"], names["y"]) > 0.99


failed = []
begin = time.time()
for check in [check_frames, check_adapt, check_search, check_errors, check_reader, check_docs, check_scikit_learn]:
    check()
    print(check.__name__, f"{time.time() - begin:.0f} s")
sys.exit(bool(failed))
