#!/usr/bin/env python3
"""Chooses classes, and words, of a dataset, for pretrain.sh and learned.py.

    selection.py IN OUT.npz [--classes FILE --words FILE] [--min-class N] [--max-class N]

Keeps the classes with so many rows. IN is an .npz or, with the names of its classes and words, svmlight
with indices from 1: then it keeps words of two letters or more that are no stop words, and that three
rows have. Needs NumPy.
"""
import argparse, gzip
import numpy as np

# Function words (articles, pronouns, prepositions, conjunctions, auxiliary verbs, common adverbs, numerals), and
# what contractions leave when only letters count. The list was written for this project from grammar.
STOP = set("""
a about above across after afterwards again against ago ain all almost alone along alongside already also although
altogether always am amid among amongst an and another any anybody anyhow anyone anything anyway anywhere are aren
around as at away back be became because become becomes becoming been before beforehand behind being below beneath
beside besides between beyond both but by can cannot could couldn d despite did didn do does doesn doing don done down
during each eight either eleven else enough etc even ever every everybody everyone everything everywhere except far
few fewer fifteen fifty first five for forty four from further furthermore gave get gets getting give given gives go
goes going gone got had hadn hardly has hasn have haven having he hence her here hereafter hereby herein hers herself
him himself his how however i if in indeed inside instead into is isn it its itself just keep last later latter
latterly least less lest let like ll m made make makes many may maybe me meanwhile merely might mightn mine more
moreover most mostly much must mustn my myself namely near nearly needn neither never nevertheless next nine no nobody
none nonetheless noone nor not nothing now nowhere of off often on once one ones only onto or other others otherwise
ought our ours ourselves out outside over own past per perhaps probably provided put quite rather re really regarding
s same seem seemed seeming seems seven several shall she should shouldn since six sixty so some somebody somehow
someone something sometime sometimes somewhere soon still such t take taken takes ten than that the their theirs them
themselves then thence there thereafter thereby therefore therein thereof thereupon these they this those though three
through throughout thus till to together too took toward towards twelve twenty two under underneath unless unlike
until up upon us usually ve versus very via vs was wasn we well were weren what whatever when whence whenever where
whereafter whereas whereby wherein whereupon wherever whether which whichever while whilst who whoever whom whose why
will with within without won would wouldn yet you your yours yourself yourselves
""".split())
ROWS = 3  # that must have a word


def svmlight(path):
    """Labels, and the rows' columns and counts."""
    y, columns, counts = [], [], []
    for line in gzip.open(path, "rt"):
        label, *entries = line.split("#")[0].split()
        pairs = [entry.split(":") for entry in entries]
        y.append(int(label))
        columns.append(np.array([int(j) - 1 for j, _ in pairs], np.int32))
        counts.append(np.array([float(v) for _, v in pairs], np.float32))
    return np.array(y), columns, counts


def selected(columns, counts, words):
    """The arrays of the words that are kept."""
    rows = np.bincount(np.concatenate(columns), minlength=len(words))
    kept = [j for j, word in enumerate(words) if rows[j] >= ROWS and len(word) > 1 and word not in STOP]
    place = np.full(len(words), -1, np.int32)
    place[kept] = np.arange(len(kept))
    entries = place[np.concatenate(columns)]
    some = entries >= 0
    ends = np.cumsum([np.sum(place[row] >= 0) for row in columns])
    return {"format": "csr", "shape": [len(columns), len(kept)], "indptr": np.append(0, ends), "indices": entries[some],
            "data": np.concatenate(counts)[some], "features": np.array(words)[kept], "steps": ["select"]}


flags = argparse.ArgumentParser()
for name in ("input", "out", "--classes", "--words"):
    flags.add_argument(name)
flags.add_argument("--min-class", type=int, default=1)
flags.add_argument("--max-class", type=int, default=10**9)
asked = flags.parse_args()
if asked.classes:
    y, columns, counts = svmlight(asked.input)
    classes = np.array(open(asked.classes).read().split("\n"))
else:
    archive = np.load(asked.input)
    y, classes = archive["y"].astype(int), archive["classes"]
numbers, index, sizes = np.unique(y, return_inverse=True, return_counts=True)
large = (sizes >= asked.min_class) & (sizes <= asked.max_class)
rows = np.flatnonzero(large[index])
if asked.classes:
    arrays = selected([columns[i] for i in rows], [counts[i] for i in rows], gzip.open(asked.words, "rt").read().split())
else:
    arrays = {"X": archive["X"][rows]}
names = classes[numbers[large] - 1]
np.savez(asked.out, y=np.searchsorted(numbers[large], y[rows]) + 1, classes=names, **arrays)
