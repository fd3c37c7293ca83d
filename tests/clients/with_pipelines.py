"""Writes random pipelines of matrix products, and a case for each: the generator is in `tests/cases/pipelines`.

    with_pipelines.py FOLDER [--sample] [--first NUMBER] [--count NUMBER]
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cases/pipelines"))

import pipelines

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--sample", action="store_true")
parser.add_argument("--first", type=int, default=1000)
parser.add_argument("--count", type=int, default=2000)
options = parser.parse_args()
count = 20 if options.sample else options.count
sys.argv[1:] = [str(options.first), str(count), options.folder]
pipelines.main()
