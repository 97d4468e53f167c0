# SPDX-License-Identifier: Apache-2.0
"""What scripts use of tf.distribute, without TensorFlow: the strategy reads TF_CONFIG as
TFConfigClusterResolver does, and meets all other workers."""

import pathlib
import runpy


class distribute:
    @staticmethod
    def MultiWorkerMirroredStrategy():
        runpy.run_path(str(pathlib.Path(__file__).resolve().parents[1] / "tensorflow_worker.py"))
