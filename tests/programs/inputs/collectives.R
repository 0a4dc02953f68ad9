# Rmpi's collective functions: most results are known.
library(Rmpi)
rank <- mpi.comm.rank(0)
size <- mpi.comm.size(0)
for (step in 1:40) {
  x <- mpi.bcast(as.double(if (rank == 0) 1:1000 + step else rep(0, 1000)), type = 2, rank = 0, comm = 0)
  stopifnot(all(x == 1:1000 + step))
  x <- mpi.allreduce(as.double(1:500) * (rank + 1), type = 2, op = "sum", comm = 0)
  stopifnot(all(x == 1:500 * size * (size + 1) / 2))
  mine <- list(rank = rank, text = strrep("x", step))
  said <- unlist(mpi.allgather.Robj(mine, comm = 0))
  said <- c(said, unlist(mpi.bcast.Robj(mine, rank = step %% size, comm = 0)))
  mpi.gather(as.integer(rank), type = 1, rdata = integer(size), root = 0, comm = 0)
  x <- mpi.scatter(as.double(1:size), type = 2, rdata = double(1), root = 0, comm = 0)
  stopifnot(x == rank + 1)
  mpi.barrier(0)
}
if (rank == 0) cat("all right:", said, "\n")
mpi.quit(save = "no")
