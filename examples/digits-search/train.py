# SPDX-License-Identifier: Apache-2.0
"""Classifies scanned digits as examples/digits does, for a search over its hyperparameters.

Reads its hyperparameters from TRAIN_HPARAMS; those that are not there are as in examples/digits.
After every epoch it reports how well it does on the images kept for validation, and leaves when it
is to stop. Needs `train`, which puts train_report on its path.
"""

import json
import os

import torch
import torch.distributed as dist
import train_report
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

DEFAULTS = {"learning_rate": 4e-3, "hidden": 128, "dropout": 0.0, "epochs": 12}
SEED = 7  # of all trials, so that only their hyperparameters differ and each can be repeated
VALIDATION_EVERY = 5  # of the images, one in five is kept: those that examples/digits tests with


def load_data():
    """1,797 images of 8x8 pixels: (train, validation), the same split on every rank."""
    digits = load_digits()
    images = torch.tensor(digits.data, dtype=torch.float32) / 16
    labels = torch.tensor(digits.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(SEED))
    is_train = torch.arange(len(order)) % VALIDATION_EVERY != 0
    train, validation = order[is_train], order[~is_train]
    return TensorDataset(images[train], labels[train]), (images[validation], labels[validation])


def make_model(hidden, dropout):
    first, last = nn.Linear(64, hidden), nn.Linear(hidden, 10)
    return nn.Sequential(first, nn.ReLU(), nn.Dropout(dropout), last)


def train_epoch(model, loader, optimizer):
    model.train()
    with model.join():  # a rank with a larger batch has fewer of them
        for images, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()


def validate(model, data):
    """(loss, accuracy); every rank has the same model, and finds the same."""
    images, labels = data
    model.eval()
    with torch.no_grad():
        scores = model(images)
    loss = nn.functional.cross_entropy(scores, labels).item()
    return loss, (scores.argmax(dim=1) == labels).float().mean().item()


def is_to_stop():
    """Whether any rank has been told to: the ranks leave together, after the same epoch."""
    told = torch.tensor(float(train_report.should_stop()))
    dist.all_reduce(told, dist.ReduceOp.MAX)
    return told.item() > 0


def main():
    hyperparameters = {**DEFAULTS, **json.loads(os.environ["TRAIN_HPARAMS"])}
    epochs = hyperparameters["epochs"]
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    torch.manual_seed(SEED)
    dist.init_process_group("gloo")
    rank = dist.get_rank()

    train_data, validation_data = load_data()
    net = make_model(hyperparameters["hidden"], hyperparameters["dropout"])
    model = DistributedDataParallel(net)
    sampler = DistributedSampler(train_data, seed=SEED, drop_last=True)
    batch_size = int(os.environ["TRAIN_BATCH_SIZE"])  # this rank's share of global_batch_size
    loader = DataLoader(train_data, batch_size=batch_size, sampler=sampler, drop_last=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=hyperparameters["learning_rate"])
    for epoch in range(1, epochs + 1):
        sampler.set_epoch(epoch)
        train_epoch(model, loader, optimizer)
        loss, accuracy = validate(net, validation_data)
        if rank == 0:
            print(f"epoch {epoch}/{epochs}: loss {loss:.4f}, accuracy {accuracy:.4f}", flush=True)
            train_report.report(
                {"epochs": epoch, "validation_loss": loss, "validation_accuracy": accuracy}
            )
        if is_to_stop():
            print(f"rank {rank}: stops after epoch {epoch}", flush=True)
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
