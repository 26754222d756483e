#!/usr/bin/env bash
# Makes the network of model/pretrained, in DIR/network:
#
#   testdata/pretrain.sh DIR [DATASET ...]
#
# The data are in $L2MT_DATA (default: shared/data beside the repository). Given
# datasets, it takes these alone, to try it. What an interrupted run left in DIR is
# gone on with. On one kind of CPU it comes to the same bytes for any number of
# workers: tuples are trained on in canonical order. Needs Go, and Python with NumPy.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
data=$(cd "${L2MT_DATA:-$root/../shared/data}" && pwd)
mkdir -p "$1" && cd "$1" && shift
all=(news reuters cnae caltech yaleb usps mfeat letter leaves digits pendigits alphadigits mnist)
datasets=("${@:-${all[@]}}")

(cd "$root" && go build -buildvcs=false -o "$OLDPWD/l2mt" ./cmd/l2mt) # the revision would be in the network
mkdir -p data problems collected
l2mt() { nice ./l2mt -q "$@" >>log; }

# text DIRECTORY FILE OPTIONS... keeps the 1,000 words that ridge regression finds
# most important.
text() {
  local from=$data/$1 file=$2
  shift 2
  selection "$from/$file" --classes "$from/classes.txt" --words "$from/vocabulary.txt.gz" "$@"
  l2mt data import "data/$name-selected.npz" --step tfidf --step unit --out "data/$name-all.npz"
  l2mt data import "data/$name-all.npz" --step ridge1000 --step unit --out "data/$name.npz"
}

# selection FILE OPTIONS...
selection() {
  local file=$1
  shift
  "$root/testdata/selection.py" "$file" "data/$name-selected.npz" "$@"
}

# standardised FILE
standardised() {
  l2mt data import "$1" --step standardise --step unit --out "data/$name.npz"
}

# fractions has the shares of rows for training, and for validation: small, medium, large.
declare -A fractions=(
  [news]=".002 .005 .015" [reuters]=".004 .01 .03" [cnae]=".017 .042 .125" [caltech]=".014 .035 .1" [yaleb]=".031 .08 .2"
  [usps]=".0022 .0055 .016" [mfeat]=".01 .025 .075" [letter]=".0026 .0065 .02" [leaves]=".125 .19 .31" [digits]=".011 .028 .083"
  [pendigits]=".0018 .0045 .0136" [alphadigits]=".05 .13 .35" [mnist]=".005 .0125 .0375")

for name in "${datasets[@]}"; do
  dataset=data/$name.npz
  [ -e "$dataset" ] || case $name in
    news) text 20newsgroups 20newsgroups.svmlight.gz ;;
    reuters) text reuters21578 reuters21578.svmlight.gz --min-class 60 ;;
    cnae) l2mt data import "$data/more/cnae9.svmlight.gz" --step tfidf --step unit --out "$dataset" ;;
    caltech)
      selection "$data/caltech101/caltech101_mobilenetv2_logits.npz" --min-class 60 --max-class 400
      standardised "data/$name-selected.npz"
      ;;
    yaleb) standardised "$data/yaleb/yaleb.npz" ;;
    leaves) standardised "$data/more/leaves100.npz" ;;
    mnist) standardised "$data/more/mnist4000.npz" ;;
    digits) ;; # in the program
    *) standardised "$data/more/$name.npz" ;;
  esac
  [ "$name" != digits ] || dataset=digits
  size=0
  for fraction in ${fractions[$name]}; do
    size=$((size + 1))
    [ -e "problems/$name-$size/train.json" ] || l2mt problems sample --dataset "$dataset" --out "problems/$name-$size" \
      --train 12 --test 1 --train-fraction "$fraction" --validation-fraction "$fraction" --seed $((30 + size))
  done
done

experience=()
for size in 1 2 3; do
  for name in "${datasets[@]}"; do
    of=$name-$size
    l2mt collect --problems "problems/$of/train.json" --out "collected/$of" --models stl --explore 2 --near 6 --o labelled
    experience+=(--experience "collected/$of")
  done
done
l2mt train --preset pairwise --seed 1 "${experience[@]}" --out network
sha256sum network/config.json network/weights.safetensors
