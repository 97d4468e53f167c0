# SPDX-License-Identifier: Apache-2.0
"""A rank with half a GPU: says which one, and keeps to half of its memory."""

import os

import train_report

try:
    import torch
except ModuleNotFoundError:
    torch = None

learning_rate = float(os.environ["TRAIN_HPARAM_LEARNING_RATE"])
print(f"learning rate {learning_rate} on GPU {os.environ['CUDA_VISIBLE_DEVICES']}", flush=True)
if torch and torch.cuda.is_available():
    torch.cuda.set_per_process_memory_fraction(0.5)

slope = 0.0
for step in range(1, 21):
    slope -= learning_rate * 2 * (slope - 3)
    train_report.report({"loss": (slope - 3) ** 2}, step=step)
