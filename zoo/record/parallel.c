/* What `ouzel record` is tried on: files of MPI, which four ranks write and read together: blocking, non-blocking and
 * split calls, by explicit offsets and by the position, and calls that fail. Each checks what it gets, and the program
 * exits with the number of the first check that fails.
 *   parallel FOLDER
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) do { if (!(condition)) MPI_Abort(MPI_COMM_WORLD, __COUNTER__ + 1); } while (0)

enum { N_RANKS = 4 };

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, count, data[200], back[200];
    char path[4096], own[4096];
    MPI_Status status;
    MPI_Request request;
    MPI_File file;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 200; i++) data[i] = 1000 * rank + i;
    snprintf(path, sizeof path, "%s/parallel", argv[1]);
    CHECK(MPI_File_open(MPI_COMM_WORLD, "/no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS);
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == 0);
    CHECK(MPI_File_write_at(file, 100 * rank, data, 25, MPI_INT, MPI_STATUS_IGNORE) == 0);
    CHECK(MPI_File_sync(file) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_read_at_all(file, 0, back, 100, MPI_INT, &status) == 0);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 100 && back[25] == 1000 && back[99] == 3024);
    /* Only five of ten are there. */
    CHECK(MPI_File_read_at(file, 380, back, 10, MPI_INT, MPI_STATUS_IGNORE) == 0 && back[4] == 3024);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_iwrite_at(file, 400 + 8 * rank, data, 2, MPI_INT, &request) == 0);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == 0);
    CHECK(MPI_File_iread_at(file, 400 + 8 * rank, back, 2, MPI_INT, &request) == 0);
    CHECK(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE) == 0 && back[1] == 1000 * rank + 1);
    CHECK(MPI_File_write_at_all_begin(file, 432 + 12 * rank, data, 3, MPI_INT) == 0);
    CHECK(MPI_File_write_at_all_end(file, data, &status) == 0);
    CHECK(MPI_File_seek(file, 480 + 16 * rank, MPI_SEEK_SET) == 0);
    CHECK(MPI_File_write_all(file, data, 4, MPI_INT, &status) == 0);
    MPI_Offset size;
    CHECK(MPI_File_close(&file) == 0 && file == MPI_FILE_NULL);
    CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == 0);
    CHECK(MPI_File_get_size(file, &size) == 0 && size == 544);
    CHECK(MPI_File_write(file, data, 1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_File_read(file, back, 30, MPI_INT, MPI_STATUS_IGNORE) == 0 && back[29] == 1004);
    CHECK(MPI_File_close(&file) == 0);
    /* And a stream of each rank. */
    snprintf(own, sizeof own, "%s/stream-%d", argv[1], rank);
    FILE *stream = fopen(own, "w");
    CHECK(stream && fprintf(stream, "%04d\n", rank) == 5 && fclose(stream) == 0);
    MPI_Finalize();
    return 0;
}
