"""Records of `otf2-print` and of `ouzel print` in one form, so that they can be compared.

The form is that of the library: fields under the names of the C functions in snake case
(`msg_tag`), flags and roots as numbers, references as `Reference`, undefined as None.
Records are known by their names without case and underscores. `otf2-print` uses labels
for people (`Tag`, `Root: NONE`), which the tables below translate; they are all that is
known here of either program. Whatever has no entry passes unchanged.
"""

from otf2_print import Reference

UNDEFINED = {(1 << 32) - 1, (1 << 64) - 1}
UNDEFINED_EXIT_STATUS = -(1 << 63)

# otf2-print calls three events otherwise than the library does.
RECORDS = {
    "iochangeflags": "iochangestatusflags",
    "parameterint64": "parameterint",
    "parameteruint64": "parameterunsignedint",
}
FIELDS = {
    "access_mode": "mode",
    "length": "msg_length",
    "level_of_synchronicity": "sync_level",
    "lock": "lock_id",
    "matching": "matching_id",
    "operation": "collective_op",
    "request": "request_id",
    "requested_threads": "number_of_requested_threads",
    "tag": "msg_tag",
    "task": "task_id",
    "time_ticks": "time",
    "window": "win",
}
# Labels that stand for different fields in different records: by the beginning of the record's name.
FIELDS_OF = {
    "measurement": {"mode": "measurement_mode"},
    "mpi": {"received": "size_received", "sent": "size_sent"},
    "nonblocking": {"received": "size_received", "sent": "size_sent"},
    "parameterstring": {"value": "string"},
    "program": {"arguments": "program_arguments", "name": "program_name"},
    "rmaacquire": {"type": "lock_type"},
    "rmaatomic": {"type": "atomic_type"},
    "rmarequest": {"type": "lock_type"},
    "rmatry": {"type": "lock_type"},
    "rma": {"received": "bytes_received", "sent": "bytes_sent"},
    "ioacquire": {"type": "lock_type"},
    "iorelease": {"type": "lock_type"},
    "iotry": {"type": "lock_type"},
}
ROOTS = {"NONE": (1 << 32) - 1, "SELF": (1 << 32) - 2, "THIS_GROUP": (1 << 32) - 3}
FLAGS = {
    "creation_flags": ["CREATE", "TRUNCATE", "DIRECTORY", "EXCLUSIVE", "NO_CONTROLLING_TERMINAL", "NO_FOLLOW", "PATH",
                       "TEMPORARY_FILE", "LARGEFILE", "NO_SEEK", "UNIQUE"],
    "operation_flags": ["NON_BLOCKING", "COLLECTIVE"],
    "status_flags": ["CLOSE_ON_EXEC", "APPEND", "NON_BLOCKING", "ASYNC", "SYNC", "DATA_SYNC", "AVOID_CACHING",
                     "NO_ACCESS_TIME", "DELETE_ON_CLOSE"],
    "sync_level": ["PROCESS", "MEMORY"],
}
# What ouzel says beside a record and otf2-print does not.
OURS_ONLY = {"file_offset", "number", "time_ns"}


def canonical(record):
    """A record of either program; `location`, `time`, `record` and its fields on one level."""
    name = record["record"].replace("_", "").lower()
    name = RECORDS.get(name, name)
    translated = FIELDS | {label: field for begin, labels in FIELDS_OF.items() if name.startswith(begin)
                           for label, field in labels.items()}
    found = {"record": name}
    for label, value in record.items():
        field = translated.get(label, label)
        if label != "record" and label not in OURS_ONLY:
            found[field] = canonical_value(field, value)
    return found


def canonical_value(field, value):
    if field in FLAGS and isinstance(value, list):
        return sum(1 << FLAGS[field].index(flag) for flag in value)
    if field == "root":
        return ROOTS.get(value, value)
    if field == "exit_status":
        return None if value == UNDEFINED_EXIT_STATUS else value
    if isinstance(value, Reference) and value.id in UNDEFINED:
        return None
    return value


def from_json(value):
    """JSON of ouzel: objects with an id are references, objects with a type are typed values."""
    if isinstance(value, list):
        return [from_json(element) for element in value]
    if isinstance(value, dict):
        if "id" in value:
            return Reference(value["id"], value.get("name"))
        if "type" in value and "value" in value:
            of = value.get("attribute", value.get("member"))
            return from_json(of), value["type"], from_json(value["value"])
        return {key: from_json(content) for key, content in value.items()}
    return value
