# SPDX-License-Identifier: Apache-2.0
"""A worker of a TensorFlow cluster, without TensorFlow: it listens on the port that TF_CONFIG gives
it, as TensorFlow's server does (SO_REUSEADDR, IPv4, all addresses), meets every other worker, and
says so. The workers tell each other which they are, so that a wrong address is found."""

import json
import os
import pathlib
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from waiting import eventually

config = json.loads(os.environ["TF_CONFIG"])
workers, task = config["cluster"]["worker"], config["task"]
assert task["type"] == "worker" and set(config["cluster"]) == {"worker"}, config
assert len(set(workers)) == len(workers), workers
me = task["index"]


def endpoint(worker):
    host, port = worker.rsplit(":", 1)
    return host.strip("[]"), int(port)


def connect(worker):
    def try_it():
        try:
            return socket.create_connection(endpoint(worker))
        except ConnectionRefusedError:  # it does not listen yet
            return None

    peer = eventually(30, try_it)
    assert peer, worker
    return peer


server = socket.create_server(("0.0.0.0", endpoint(workers[me])[1]), backlog=len(workers))
for index, worker in enumerate(workers):
    if index > me:
        with connect(worker) as peer:
            peer.sendall(f"{me}\n".encode())
            assert peer.makefile().readline() == f"{index}\n", (worker, index)
met = set()
while len(met) < me:
    peer, _ = server.accept()
    with peer:
        met.add(int(peer.makefile().readline()))
        peer.sendall(f"{me}\n".encode())
assert met == set(range(me)), met
print(f"worker {me} of {len(workers)} has met all")
