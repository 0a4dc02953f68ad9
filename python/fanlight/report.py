"""The report of a run (written by the preload at MPI_Finalize) as tables."""
