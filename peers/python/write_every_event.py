"""Writes an archive that holds every kind of event, with the reference library.

usage: write_every_event.py FOLDER

Two locations record the same events: location 3 with the ids of the global definitions,
location 4294967301 with ids of its own, which mapping tables translate, and with a clock
that two offsets correct. Each event comes once with plain values, once with the largest
its fields can hold, and every type of attribute is attached once. Nothing here makes
sense as a program run; it is there to be decoded.
"""

import inspect
import itertools
import sys

import _otf2

N_IDS = 4
LOCATIONS = (3, (1 << 32) + 5)
EMPTY_STRING = 0
# Of each string the text is known by its id.
STRINGS = [""] + [f"string {i}" for i in range(1, 8)]

# What a parameter of an event writer gets, by its name: plain, then large.
REFERENCE = (1, 3)
U32 = (7, (1 << 32) - 2)
U64 = (300, (1 << 64) - 2)
VALUES = {
    "acquisitionOrder": U32,
    "bytes": U64,
    "bytesReceived": U64,
    "bytesRequest": U64,
    "bytesResult": U64,
    "bytesSent": U64,
    "callingContext": REFERENCE,
    "collectiveOp": (_otf2.COLLECTIVE_OP_BARRIER, _otf2.COLLECTIVE_OP_EXSCAN),
    "communicator": REFERENCE,
    "creatingThread": (0, 1),
    "creationFlags": (_otf2.IO_CREATION_FLAG_NONE, _otf2.IO_CREATION_FLAG_CREATE),
    "exitStatus": (0, -(1 << 62)),
    "file": REFERENCE,
    "generationNumber": U32,
    "group": REFERENCE,
    "handle": REFERENCE,
    "interruptGenerator": REFERENCE,
    "ioParadigm": (0, 1),
    "lockID": U32,
    "lockId": U64,
    "lockType": (_otf2.LOCK_EXCLUSIVE, _otf2.LOCK_SHARED),
    "matchingId": U64,
    "measurementMode": (_otf2.MEASUREMENT_ON, _otf2.MEASUREMENT_OFF),
    "messageId": U64,
    "metric": REFERENCE,
    "metricValues": None,  # with typeIDs, see below
    "model": (_otf2.PARADIGM_OPENMP, _otf2.PARADIGM_PTHREAD),
    "msgLength": U64,
    "msgTag": U32,
    "newHandle": (2, 0),
    "numberOfRequestedThreads": U32,
    "offsetRequest": (-5, -(1 << 62)),
    "offsetResult": U64,
    "oldHandle": REFERENCE,
    "operationFlags": (_otf2.IO_OPERATION_FLAG_NONE, _otf2.IO_OPERATION_FLAG_COLLECTIVE),
    "parameter": REFERENCE,
    "programArguments": ([], [2, 3, 1]),
    "programName": REFERENCE,
    "receiver": (0, 1),
    "region": REFERENCE,
    "remote": (0, 1),
    "requestID": U64,
    "requestId": U64,
    "root": (1, _otf2.COLLECTIVE_ROOT_NONE),
    "sender": (0, 1),
    "sequenceCount": U64,
    "sizeReceived": U64,
    "sizeSent": U64,
    "statusFlags": (_otf2.IO_STATUS_FLAG_NONE, _otf2.IO_STATUS_FLAG_APPEND),
    "stopTime": None,  # with time, see below
    "string": REFERENCE,
    "syncLevel": (_otf2.RMA_SYNC_LEVEL_NONE, _otf2.RMA_SYNC_LEVEL_PROCESS),
    "syncType": (_otf2.RMA_SYNC_TYPE_MEMORY, _otf2.RMA_SYNC_TYPE_NOTIFY_OUT),
    "tag": U32,
    "taskID": U64,
    "threadContingent": REFERENCE,
    "threadTeam": REFERENCE,
    "type": (_otf2.RMA_ATOMIC_TYPE_ACCUMULATE, _otf2.RMA_ATOMIC_TYPE_FETCH_AND_ADD),
    "typeIDs": None,
    "unwindDistance": (1, 2),
    "value": None,  # signed or not, see below
    "whence": (_otf2.IO_SEEK_FROM_START, _otf2.IO_SEEK_FROM_END),
    "win": REFERENCE,
    "mode": None,  # access or operation, see below
}
# Events that otf2-print 3.0 does not know yet are left out: their text cannot be compared.
YOUNGER_THAN_OTF2_PRINT = {"MpiProbe", "MpiMrecv", "MpiImrecvRequest", "MpiImrecv"}

MAPPINGS = [getattr(_otf2, name) for name in dir(_otf2) if name.startswith("MAPPING_") and name != "MAPPING_MAX"]
# Locations are sparse, and metric ids have to stay with metrics of the same shape.
IDENTITY_MAPPINGS = (_otf2.MAPPING_LOCATION, _otf2.MAPPING_STRING, _otf2.MAPPING_ATTRIBUTE)


def event_writers():
    """The names of all event writers with the names of their parameters, in the library's order."""
    skipped = {"GetLocationID", "SetLocationID", "GetUserData", "SetUserData", "GetNumberOfEvents",
               "StoreRewindPoint", "Rewind", "ClearRewindPoint"} | YOUNGER_THAN_OTF2_PRINT
    functions = inspect.getmembers(_otf2, inspect.isfunction)
    for name, function in functions:
        event = name.removeprefix("EvtWriter_")
        if event != name and event not in skipped:
            yield function, event, list(inspect.signature(function).parameters)[3:]


def metric_value(kind, number):
    value = _otf2.MetricValue()
    setattr(value, kind, number)
    return value


def arguments(event, parameters, large, time):
    special = {
        "stopTime": time + 3,
        "value": (-(1 << 40) if event == "ParameterInt" else 1 << 63) if large else 5,
        "mode": _otf2.IO_ACCESS_MODE_READ_WRITE if event == "IoCreateHandle" else _otf2.IO_OPERATION_MODE_WRITE,
        "typeIDs": [_otf2.TYPE_UINT64, _otf2.TYPE_INT64, _otf2.TYPE_DOUBLE],
        "metricValues": [
            metric_value("unsigned_int", (1 << 63) + 1 if large else 12),
            metric_value("signed_int", -(1 << 50) if large else -1),
            metric_value("floating_point", 1.5e300 if large else -1 / 3),
        ],
    }
    return [special[name] if VALUES[name] is None else VALUES[name][large] for name in parameters]


def every_attribute():
    attributes = _otf2.AttributeList_New()
    numbers = {"Uint8": 255, "Uint16": 65535, "Uint32": 4000000000, "Uint64": 1 << 60, "Int8": -128, "Int16": -32768,
               "Int32": -2000000000, "Int64": -(1 << 60), "Float": 1 / 3, "Double": -2 / 3}
    references = ["String", "Attribute", "Region", "Group", "Metric", "Comm", "Parameter", "RmaWin",
                  "SourceCodeLocation", "CallingContext", "InterruptGenerator", "IoFile", "IoHandle", "LocationGroup"]
    ids = itertools.count()
    for kind, number in numbers.items():
        getattr(_otf2, f"AttributeList_Add{kind}")(attributes, next(ids), number)
    for kind in references:
        getattr(_otf2, f"AttributeList_Add{kind}Ref")(attributes, next(ids), 1)
    _otf2.AttributeList_AddLocationRef(attributes, next(ids), LOCATIONS[0])
    return attributes


def write_events(archive, location):
    """Returns the number of events and the time after the last."""
    writer = _otf2.Archive_GetEvtWriter(archive, location)
    time = 1000
    n_events = 0
    for function, event, parameters in event_writers():
        for large in (False, True):
            # Time stands still for some events, so that they share a time record.
            time += 0 if event.startswith("Io") else 10
            attributes = every_attribute() if large and event in ("Enter", "Metric", "MpiSend") else None
            function(writer, attributes, time, *arguments(event, parameters, large, time))
            n_events += 1
    _otf2.Archive_CloseEvtWriter(archive, writer)
    return n_events, time + 10


def write_local_definitions(archive, end):
    for location in LOCATIONS:
        writer = _otf2.Archive_GetDefWriter(archive, location)
        if location == LOCATIONS[1]:
            for mapping in MAPPINGS:
                if mapping not in IDENTITY_MAPPINGS:
                    table = _otf2.IdMap_CreateFromUint64Array(list(reversed(range(N_IDS))), False)
                    _otf2.DefWriter_WriteMappingTable(writer, mapping, table)
                    _otf2.IdMap_Free(table)
            _otf2.DefWriter_WriteClockOffset(writer, 1000, 400, 0.0)
            _otf2.DefWriter_WriteClockOffset(writer, (1000 + end) // 2, -100, 0.0)
            _otf2.DefWriter_WriteClockOffset(writer, end, 777, 0.0)
        _otf2.Archive_CloseDefWriter(archive, writer)


def write_global_definitions(archive, n_events, end):
    writer = _otf2.Archive_GetGlobalDefWriter(archive)
    none = _otf2.UNDEFINED_UINT32.value

    def write(kind, *values):
        getattr(_otf2, f"GlobalDefWriter_Write{kind}")(writer, *values)

    write("ClockProperties", 1000000000, 900, end, _otf2.UNDEFINED_TIMESTAMP.value)
    for i, text in enumerate(STRINGS):
        write("String", i, text)
    types = range(1, 26)
    for i, kind in enumerate(types):
        # The order of every_attribute: numbers, references but that of locations, locations.
        kind = 13 if i == 24 else kind + 1 if kind >= 13 else kind
        write("Attribute", i, 1 + i % 7, EMPTY_STRING, kind)
    write("SystemTreeNode", 0, 1, 2, none)
    for i in range(N_IDS):
        write("LocationGroup", i, 1 + i, _otf2.LOCATION_GROUP_TYPE_PROCESS, 0, none)
    for i, location in enumerate(LOCATIONS):
        write("Location", location, 1 + i, _otf2.LOCATION_TYPE_CPU_THREAD, n_events, i)
    for i in range(N_IDS):
        name = 1 + i
        write("Region", i, name, name, EMPTY_STRING, _otf2.REGION_ROLE_FUNCTION, _otf2.PARADIGM_USER, 0, name, i, i + 1)
        write("SourceCodeLocation", i, name, 10 * i)
        write("CallingContext", i, i, i, none if i == 0 else i - 1)
        write("InterruptGenerator", i, name, _otf2.INTERRUPT_GENERATOR_MODE_TIME, _otf2.BASE_DECIMAL, -9, 1000)
        write("Parameter", i, name, i % 3)
        write("IoRegularFile", i, name, 0)
    write("Group", 0, EMPTY_STRING, _otf2.GROUP_TYPE_COMM_LOCATIONS, _otf2.PARADIGM_MPI, 0, list(LOCATIONS))
    for i in range(1, N_IDS):
        write("Group", i, 1 + i, _otf2.GROUP_TYPE_COMM_GROUP, _otf2.PARADIGM_MPI, 0, [0, 1])
    for i in range(N_IDS):
        write("Comm", i, 1 + i, 1 + i % 3, none, 0)
        write("RmaWin", i, 1 + i, i, 0)
        write("MetricMember", i, 1 + i, EMPTY_STRING, _otf2.METRIC_TYPE_USER, _otf2.METRIC_ABSOLUTE_POINT,
              (_otf2.TYPE_UINT64, _otf2.TYPE_INT64, _otf2.TYPE_DOUBLE)[i % 3], _otf2.BASE_DECIMAL, 0, 1)
    for i in range(N_IDS):
        write("MetricClass", i, [0, 1, 2], _otf2.METRIC_SYNCHRONOUS, _otf2.RECORDER_KIND_CPU)
    for i in range(2):
        write("IoParadigm", i, 1 + i, 2 + i, _otf2.IO_PARADIGM_CLASS_SERIAL, 0, [], [], [])
    for i in range(N_IDS):
        write("IoHandle", i, 1 + i, i, 0, 0, none, none)


def main():
    archive = _otf2.Archive_Open(sys.argv[1], "traces", _otf2.FILEMODE_WRITE, 1 << 20, 1 << 20,
                                 _otf2.SUBSTRATE_POSIX, _otf2.COMPRESSION_NONE)
    flush = _otf2.FlushCallbacks(lambda *_: _otf2.FLUSH, lambda *_: 0)
    _otf2.Archive_SetFlushCallbacks(archive, flush, None)
    _otf2.Archive_SetSerialCollectiveCallbacks(archive)
    _otf2.Archive_OpenEvtFiles(archive)
    (n_events, end), _ = [write_events(archive, location) for location in LOCATIONS]
    _otf2.Archive_CloseEvtFiles(archive)
    _otf2.Archive_OpenDefFiles(archive)
    write_local_definitions(archive, end)
    _otf2.Archive_CloseDefFiles(archive)
    write_global_definitions(archive, n_events, end + 1000)
    _otf2.Archive_Close(archive)


if __name__ == "__main__":
    main()
