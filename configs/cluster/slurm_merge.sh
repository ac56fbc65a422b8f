#!/bin/bash
# Merges the shards of @DIR@ that are there into @DB@, and names those that are missing, unfinished or unusable. It runs once
# the array has ended, however its tasks did, and may run again at any time: what is merged already is added only once.
#
# Written by "tune cluster slurm", and yours to edit: nothing reads it but sbatch.
#SBATCH --job-name=@NAME@-merge
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --partition=@MERGE_PARTITION@
#SBATCH --account=@ACCOUNT@
#SBATCH --qos=@QOS@
#SBATCH --output=@LOG@/log/merge.log
#SBATCH --open-mode=append
#SBATCH --requeue

module load @MODULE@

tune=('@PROGRAM@')
tune=(apptainer exec --bind "@DIR@,@DB_DIR@" '@CONTAINER@' '@PROGRAM@')

exec "${tune[@]}" cluster merge --dir '@DIR@'
