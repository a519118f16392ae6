"""Number and summed duration of the calls of an Nsight Systems export by name, in SQL: profile_nsight.py EXPORT"""

import sqlite3
import sys

TABLES = {
    "CUPTI_ACTIVITY_KIND_RUNTIME": "nameId",
    "CUPTI_ACTIVITY_KIND_KERNEL": "demangledName",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "copyKind",
    "NVTX_EVENTS": "textId",
    "OSRT_API": "nameId",
    "MPI_P2P_EVENTS": "textId",
    "MPI_START_WAIT_EVENTS": "textId",
}

connection = sqlite3.connect(f"file:{sys.argv[1]}?immutable=1", uri=True)
for table, name in TABLES.items():
    for row in connection.execute(f'SELECT {name}, count(*), sum("end" - start) FROM {table} GROUP BY {name}'):
        print(table, *row)
