# SPDX-License-Identifier: Apache-2.0
"""Batch inference over many ranks: each takes a shard of the samples by its rank, and rank 0 gathers.

One rank of each host gets the data and the model (`train once-per-host`); the others find them
there. Run it on all slots of some hosts with

    train launch -H node[01-04]:8 -- python3 examples/inference/infer.py
"""
import argparse
import csv
import os
import pickle
import subprocess
import sys

import torch.distributed as dist


def load(folder):
    """What a rank does for its host: here the data are scikit-learn's, and the model is made of them."""
    from sklearn.datasets import load_digits
    from sklearn.neighbors import KNeighborsClassifier

    images, labels = load_digits(return_X_y=True)
    model = KNeighborsClassifier().fit(images[:500], labels[:500])
    with open(os.path.join(folder, "data.pickle"), "wb") as file:
        pickle.dump((images, model), file)
    print("data loaded", flush=True)


def shard(samples, rank, world_size):
    """The samples of a rank, as even as can be: ranges that touch and do not overlap."""
    return range(samples * rank // world_size, samples * (rank + 1) // world_size)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1797)
    parser.add_argument("--output", default="answers", help="folder of rank 0's host")
    parser.add_argument("--load", metavar="FOLDER", help="only load the data, to there")
    arguments = parser.parse_args()
    if arguments.load:
        return load(arguments.load)

    folder = os.environ["TRAIN_RUN_DIR"]
    subprocess.run(
        ["train", "once-per-host", "--", sys.executable, __file__, "--load", folder], check=True
    )
    with open(os.path.join(folder, "data.pickle"), "rb") as file:
        images, model = pickle.load(file)

    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    own = shard(arguments.samples, rank, world_size)
    answers = list(zip(own, model.predict(images[own.start : own.stop]).tolist())) if own else []
    print(f"rank {rank} of {world_size}: {len(answers)} samples", flush=True)

    gathered = [None] * world_size if rank == 0 else None
    dist.gather_object(answers, gathered)
    if rank == 0:
        os.makedirs(arguments.output, exist_ok=True)
        with open(os.path.join(arguments.output, "all.csv"), "w", newline="") as file:
            for part in gathered:
                csv.writer(file).writerows(part)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
