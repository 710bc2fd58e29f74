"""Run acceptance 4 over all schemas, in parts that can go side by side and be resumed.

python tests/acceptance/run_instances.py --part 0/2 & python tests/acceptance/run_instances.py --part 1/2
python tests/acceptance/run_instances.py --report
"""

import argparse
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from oracles import datasets  # noqa: E402
from oracles.surveys import Records, instances_report, survey_instances  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="0/1", help="i/n: every n-th schema from the i-th")
    parser.add_argument("--count", type=int, default=None, help="how many schemas are drawn; all without it")
    parser.add_argument("--report", action="store_true", help="only print what is known")
    arguments = parser.parse_args()
    folder = datasets.data_folder()
    if folder is None:
        raise SystemExit(datasets.MISSING)
    records = Records("instances.jsonl")
    if not arguments.report:
        import tokenizers

        from constrain.vocabulary import Vocabulary

        path = folder / "tokenizers" / "llama3_1" / "tokenizer.json"
        tokenizer, vocabulary = tokenizers.Tokenizer.from_file(str(path)), Vocabulary.from_tokenizer_json(path)
        part, parts = (int(number) for number in arguments.part.split("/"))
        rows = datasets.sample_dev(folder, arguments.count)[part::parts]
        records.each(rows, lambda row: survey_instances(row, vocabulary, tokenizer))
    print(instances_report(list(records.found.values())))


if __name__ == "__main__":
    main()
