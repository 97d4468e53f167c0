# SPDX-License-Identifier: Apache-2.0
"""Classifies scanned digits with PyTorch's DistributedDataParallel: an ordinary env:// script.

Reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun and others set them too; alone, it
trains as the only rank. TRAIN_BATCH_SIZE is this rank's share of the global batch; without it every
rank takes an equal share of 64. Where TRAIN_CHECKPOINT_DIR names a folder that all ranks share, rank 0
writes what it has learned there after every epoch, and all go on from there when they are restarted.
When the file TRAIN_STOP_FILE appears, all ranks leave after the epoch that they are in.
"""

import os

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

EPOCHS = 12
GLOBAL_BATCH_SIZE = 64
LEARNING_RATE = 4e-3
SEED = 7
TEST_EVERY = 5  # of the images, one in five is kept for the test


def load_data():
    """1,797 images of 8x8 pixels: (train, test), the same split on every rank."""
    digits = load_digits()
    images = torch.tensor(digits.data, dtype=torch.float32) / 16
    labels = torch.tensor(digits.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(SEED))
    test, train = order[::TEST_EVERY], order[torch.arange(len(order)) % TEST_EVERY != 0]
    return TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test])


def checkpoint_file():
    """Where the checkpoint is, or None without a folder for it."""
    folder = os.environ.get("TRAIN_CHECKPOINT_DIR")
    return os.path.join(folder, "digits.pt") if folder else None


def save(model, optimizer, epochs):
    """A reader finds the old checkpoint or the new one, and never half of one."""
    path = checkpoint_file()
    if path is None:
        return
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epochs": epochs}
    torch.save(state, path + ".new")
    os.replace(path + ".new", path)


def restore(model, optimizer, rank):
    """How many epochs the model has learned for already."""
    path = checkpoint_file()
    if path is None or not os.path.exists(path):
        return 0
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    if rank == 0:
        print(f"going on after epoch {state['epochs']}/{EPOCHS}", flush=True)
    return state["epochs"]


def is_to_stop():
    """Whether any rank has seen its stop file: the ranks leave together, after the same epoch."""
    path = os.environ.get("TRAIN_STOP_FILE", "")
    seen = torch.tensor(float(os.path.exists(path)))
    dist.all_reduce(seen, dist.ReduceOp.MAX)
    return seen.item() > 0


def train(model, data, rank, world_size, batch_size):
    """Every rank learns from its own shard; the gradients are averaged over all ranks."""
    sampler = DistributedSampler(data, world_size, rank, seed=SEED, drop_last=True)
    loader = DataLoader(data, batch_size=batch_size, sampler=sampler, drop_last=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    for epoch in range(restore(model, optimizer, rank), EPOCHS):
        sampler.set_epoch(epoch)
        total = 0.0
        with model.join():  # a rank with a larger batch has fewer of them
            for images, labels in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(images), labels)
                loss.backward()
                optimizer.step()
                total += loss.item()
        if rank == 0:
            print(f"epoch {epoch + 1}/{EPOCHS}: loss {total / len(loader):.4f}", flush=True)
            save(model, optimizer, epoch + 1)
        if is_to_stop():
            break
    return len(sampler)


def accuracy(model, data):
    """Share of `data` that the model names rightly."""
    images, labels = data.tensors
    with torch.no_grad():
        return (model(images).argmax(dim=1) == labels).float().mean().item()


def main():
    rank = int(os.environ.setdefault("RANK", "0"))
    world_size = int(os.environ.setdefault("WORLD_SIZE", "1"))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29500")
    batch_size = int(os.environ.get("TRAIN_BATCH_SIZE", GLOBAL_BATCH_SIZE // world_size))

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    torch.manual_seed(SEED)
    dist.init_process_group("gloo")
    train_data, test_data = load_data()
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    samples = train(DistributedDataParallel(model), train_data, rank, world_size, batch_size)
    print(
        f"rank {rank} of {world_size}: {samples} samples in batches of {batch_size}, "
        f"test accuracy {accuracy(model, test_data):.4f}",
        flush=True,
    )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
