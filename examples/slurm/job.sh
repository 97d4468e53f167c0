#!/bin/sh
# The digits example on four nodes of a Slurm cluster. From the root of the repository, which all nodes
# have at the same path:
#
#     sbatch examples/slurm/job.sh
#
# Without a script, this submits the same and shows it: train launch --engine slurm FILE
#
# The nodes need no sshd: train starts its agents as steps of the job. It is ended by scancel, and by the
# job's limit of time, like any program: all ranks are told, and nothing is left.
#SBATCH --job-name=digits --nodes=4 --ntasks-per-node=1 --cpus-per-task=2 --time=10
exec train launch examples/digits/experiment.yaml
