# SPDX-License-Identifier: Apache-2.0
"""Learns with parts of a batch that differ in size, and yet as if one rank had the whole batch.

A mean of the ranks' means would count a sample of a small part more than one of a large part. So each
rank sums the losses of its samples and divides by the size of the whole batch, and gradients are
summed over the ranks. DistributedDataParallel takes their mean: there, multiply the loss by WORLD_SIZE.
"""

import os

import torch
import torch.distributed as dist

STEPS = 20
GLOBAL_BATCH = int(os.environ["TRAIN_GLOBAL_BATCH_SIZE"])
OWN_BATCH = int(os.environ["TRAIN_BATCH_SIZE"])
OFFSET = int(os.environ["TRAIN_BATCH_OFFSET"])  # of the first own sample in the global batch


def main():
    dist.init_process_group("gloo")
    random = torch.Generator().manual_seed(7)
    truth = torch.randn(8, generator=random, dtype=torch.float64)
    weights = torch.zeros(8, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([weights], lr=0.1)
    print(f"{OWN_BATCH} of {GLOBAL_BATCH} samples, from sample {OFFSET} on", flush=True)
    for _ in range(STEPS):
        batch = torch.randn(GLOBAL_BATCH, 8, generator=random, dtype=torch.float64)
        own = batch[OFFSET : OFFSET + OWN_BATCH]
        optimizer.zero_grad()
        loss = ((own @ weights - own @ truth) ** 2).sum() / GLOBAL_BATCH
        loss.backward()
        dist.all_reduce(weights.grad)  # a sum, as the loss of the global batch is
        optimizer.step()
    loss = loss.detach()
    dist.all_reduce(loss)
    if dist.get_rank() == 0:
        print(f"loss {loss.item():.9f} after {STEPS} steps", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
