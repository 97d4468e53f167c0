# SPDX-License-Identifier: Apache-2.0
"""What scripts use of jax.distributed, without JAX: process 0 listens at the coordinator's address,
as JAX's service does, and every other one connects to it and says which it is."""

import pathlib
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from waiting import eventually


def _connect(address):
    try:
        return socket.create_connection(address)
    except ConnectionRefusedError:  # it does not listen yet
        return None


class distributed:
    @staticmethod
    def initialize(coordinator_address, num_processes, process_id):
        host, port = coordinator_address.rsplit(":", 1)
        others = set(range(1, num_processes))
        if process_id == 0:
            met = set()
            with socket.create_server(("0.0.0.0", int(port)), backlog=num_processes) as server:
                while len(met) < len(others):
                    peer, _ = server.accept()
                    with peer:
                        met.add(int(peer.makefile().readline()))
                        peer.sendall(b"met\n")
            assert met == others, met
        else:
            peer = eventually(30, lambda: _connect((host.strip("[]"), int(port))))
            assert peer, coordinator_address
            with peer:
                peer.sendall(f"{process_id}\n".encode())
                assert peer.makefile().readline() == "met\n"
        print(f"process {process_id} of {num_processes} has met", flush=True)
