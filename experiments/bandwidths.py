"""Which reading of the kernel width: tuned gain on MFeat for each pair of rules, views by predictions.

python experiments/bandwidths.py [--seeds 2]
"""

import argparse
import itertools

import numpy as np

from mfeat_gain import one_run
from tupi.datasets import load_mfeat
from tupi.kernels.bandwidth import RULES


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_args()
    data = load_mfeat()
    truth = next(iter(data.targets.values()))
    print(f"{'views':<14}{'predictions':<14}{'gain':>7}{'sd':>7}   {', '.join(data.views)}; {args.seeds} seeds")
    for rule, other in itertools.product(RULES, RULES):
        gains = np.empty((args.seeds, len(data.views)))
        for seed, (k, name) in itertools.product(range(args.seeds), enumerate(data.views)):
            run = one_run(data.views, truth, name, seed, bandwidth=rule, prediction_bandwidth=other)
            gains[seed, k] = run[1] - run[0]
        each = " ".join(f"{g:+6.2f}" for g in gains.mean(axis=0))
        print(f"{rule:<14}{other:<14}{gains.mean():+7.2f}{gains.mean(axis=1).std():7.2f}   {each}", flush=True)


if __name__ == "__main__":
    main()
