"""Checks of the estimators, with scikit-learn: python3 check.py PROGRAM"""

import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
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
program = str(pathlib.Path(sys.argv[1]).resolve())

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


def check_weights():
    X, y = table()
    weight = np.r_[np.zeros(20), np.ones(100)]
    model = l2mt.L2MTRegressor(task="place", view="straight", binary=program)
    y[:20] += 50
    weighted = model.fit(X, y, sample_weight=weight).predict(X)
    assert np.allclose(weighted, model.fit(X[20:], y[20:]).predict(X), atol=1e-5), abs(weighted - model.predict(X)).max()
    assert model.fit(X, y).score(X[20:], y[20:]) < model.fit(X, y, sample_weight=weight).score(X[20:], y[20:])


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


def running():
    """Whether the program runs below this process."""
    lines = subprocess.run(["ps", "--no-headers", "-o", "args", "--ppid", str(os.getpid())], capture_output=True, text=True).stdout
    return program + " fit" in lines


def interrupt():
    while not running():
        time.sleep(0.1)
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)


def check_interrupt():
    """Ctrl-C ends the program too, soon, and leaves no folder behind."""
    r = np.random.default_rng(1)
    X = pd.DataFrame(r.normal(size=(6000, 20))).assign(task=r.integers(0, 200, 6000)).rename(columns=str)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have jobs in the background ignore it
    threading.Thread(target=interrupt).start()
    with tempfile.TemporaryDirectory() as folder:
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            l2mt.L2MTRegressor(task="task", options=["--quiet"], binary=program).fit(X, X["0"] ** 2)
            raise AssertionError("a fit goes on after Ctrl-C")
        except KeyboardInterrupt:
            assert not running() and not os.listdir(folder), os.listdir(folder)
        finally:
            tempfile.tempdir = before


def check_without_scikit_learn():
    code = (
        "import sys; sys.modules['sklearn'] = None; import l2mt, numpy\n"
        "X = numpy.random.default_rng(1).normal(size=(40, 2)); model = l2mt.L2MTRegressor(binary=sys.argv[1])\n"
        "try: model.predict(X)\n"
        "except AttributeError: model.set_params(view='straight').fit(X, X[:, 0] - X[:, 1])\n"
        "assert model.score(X, X[:, 0] - X[:, 1]) > 0.99 and model.get_params()['view'] == 'straight'"
    )
    folder = pathlib.Path(__file__).resolve().parent
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, program], cwd=folder, check=True)


def run(*words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


LAYOUTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S+02:00", "%Y/%m/%d %H:%M", "%d.%m.%Y", "%b %d, %Y", "%d %b %Y", "%d.%m.%y", "%B %Y", "%b-%y", "%m/%Y"]


def check_reader():
    """The reader predicts as the program does, by every view, recipe and kind of labels."""
    r = np.random.default_rng(1)
    n = 120
    X = pd.DataFrame({"place": r.choice(["a", "b", "c"], n), "heat": r.normal(size=n).round(3), "level": r.choice(["x", "y", "Füße", "?"], n)})
    X["far"] = (7e6 + 3 * r.normal(size=n)).round(2)
    X["size"] = r.choice([1, 2], n)
    X["flat"] = 1
    days = pd.Timestamp("2024-02-03 14:15:16") + pd.to_timedelta(r.integers(0, 3e7, n), unit="s")
    for k, layout in enumerate(LAYOUTS):
        X[f"day {k}"] = days.strftime(layout)
    counts = pd.DataFrame({"place": X.place, "one": r.poisson(1, n), "two": r.poisson(3, n), "none": 0})
    y = 2 * X.heat + X.place.map({"a": 0, "b": 3, "c": -2}) + (X.level == "x") + 0.1 * r.normal(size=n)
    X.heat = X.heat.mask(X.index % 7 == 0)
    labels = {
        "number": y,
        "money": np.exp(y),
        "two": (y > y.median()).map({False: "no", True: "yes"}),
        "three": pd.qcut(y, 3, labels=["l", "m", "h"]).astype(str).mask((X.place == "c") & (y > y.median()), "m"),
    }
    # Rows to predict have other spellings, unseen levels, and a task that is new.
    asked = X.assign(place=X.place.mask(X.index % 5 == 0, "new"), level=X.level.replace({"x": "X", "y": "z", "Füße": "FU\u0308ßE"}))
    asked["size"] = asked["size"].map({1: "1.0", 2: "2"})
    each = ("--categorical", "size", "--task", "place", "--folds", 3)
    cases = [(X, asked, target, (*each, *how)) for target in ["number", "two", "three"] for how in [("--view", "kernel"), ("--model", "mtrl")]]
    cases += [
        (X, asked, "number", (*each, "--model", "stl", "--step", "none")),
        (X, asked, "number", (*each, "--na=", "--view", "straight")),
        (X, asked, "money", (*each, "--target-scale", "log", "--view", "curves")),
        (counts, counts, "number", ("--task", "place", "--step", "tfidf,unit", "--model", "rmtl")),
        (counts, counts, "two", ("--task", "place", "--step", "unit,standardise", "--view", "curves")),
        (X, asked, "number", (*each, "--after", "old")),
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for k, (table, new, target, how) in enumerate(cases):
            if "--na=" in how:
                table, new = table.drop(columns="heat"), new.drop(columns="heat")
            table.assign(target=labels[target]).to_csv("fit.csv", index=False)
            new.to_csv("new.csv", index=False)
            run("-q", "fit", "fit.csv", "--target", "target", *how, "--out", "model" if k else "old")
            run("-q", "predict", "--model", "model" if k else "old", "new.csv", "--out", "out.csv")
            want = pd.read_csv("out.csv", float_precision="round_trip").filter(regex="^pred|^prob")
            got = reader.predict("model" if k else "old", pd.read_csv("new.csv", dtype=str, keep_default_na=False), new.place)
            if target in ["number", "money"]:
                got = got[:, None]
            elif target == "two":
                got = got[:, 1:]
            want = want.select_dtypes("number").to_numpy()
            worst = (np.abs(got - want) / np.maximum(1, np.abs(want))).max()
            if not worst <= 1e-12:
                print("FAILED reader", target, *how, worst)
                failed.append("reader")


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
for check in [check_frames, check_weights, check_adapt, check_search, check_errors, check_interrupt, check_without_scikit_learn, check_reader, check_docs, check_scikit_learn]:
    check()
    print(check.__name__, f"{time.time() - begin:.0f} s")
sys.exit(bool(failed))
