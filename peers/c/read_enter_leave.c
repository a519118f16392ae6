/* The yardstick of `cargo xtask bench`: the OTF2 C library reading a trace with
 * nothing to do.
 *
 * One location after the other, by the library's per-location reader, with empty
 * callbacks for Enter and Leave and none for other records. The local definitions are
 * read first, so the library applies mapping tables and clock offsets as it does by
 * default. Nothing is counted, summed or printed inside the loop: whatever a reader
 * does beyond this can only be slower.
 *
 * Usage: read_enter_leave ANCHOR
 * Prints one JSON line: records read by the event readers, seconds of the event loop
 * alone, and seconds from opening the archive to closing it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <otf2/otf2.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void require(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "read_enter_leave: %s\n", what);
        exit(1);
    }
}

typedef struct {
    OTF2_LocationRef *ids;
    size_t n;
    size_t room;
} Locations;

static OTF2_CallbackCode keep_location(void *user, OTF2_LocationRef self, OTF2_StringRef name,
                                       OTF2_LocationType type, uint64_t n_events,
                                       OTF2_LocationGroupRef group)
{
    (void)name, (void)type, (void)n_events, (void)group;
    Locations *all = user;
    if (all->n == all->room) {
        all->room = all->room ? 2 * all->room : 64;
        all->ids = realloc(all->ids, all->room * sizeof *all->ids);
        require(all->ids != NULL, "out of memory");
    }
    all->ids[all->n++] = self;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_enter(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                  void *user, OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    (void)location, (void)time, (void)position, (void)user, (void)attributes, (void)region;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_leave(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                  void *user, OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    (void)location, (void)time, (void)position, (void)user, (void)attributes, (void)region;
    return OTF2_CALLBACK_SUCCESS;
}

static Locations read_global_definitions(OTF2_Reader *reader)
{
    Locations all = {0};
    uint64_t n_read = 0;
    OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(reader);
    require(definitions != NULL, "no global definitions");
    OTF2_GlobalDefReaderCallbacks *callbacks = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(callbacks, keep_location);
    OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks, &all);
    OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
    require(OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &n_read) == OTF2_SUCCESS,
            "cannot read the global definitions");
    return all;
}

static void read_local_definitions(OTF2_Reader *reader, const Locations *all)
{
    if (OTF2_Reader_OpenDefFiles(reader) != OTF2_SUCCESS) {
        return; /* an archive without local definitions: no mapping, no clock offsets */
    }
    for (size_t i = 0; i < all->n; i++) {
        uint64_t n_read = 0;
        OTF2_DefReader *definitions = OTF2_Reader_GetDefReader(reader, all->ids[i]);
        if (definitions != NULL) {
            OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &n_read);
            OTF2_Reader_CloseDefReader(reader, definitions);
        }
    }
    OTF2_Reader_CloseDefFiles(reader);
}

static uint64_t read_events(OTF2_Reader *reader, const Locations *all)
{
    uint64_t n_events = 0;
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    OTF2_EvtReaderCallbacks_SetEnterCallback(callbacks, on_enter);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(callbacks, on_leave);
    require(OTF2_Reader_OpenEvtFiles(reader) == OTF2_SUCCESS, "cannot open the event files");
    for (size_t i = 0; i < all->n; i++) {
        uint64_t n_read = 0;
        OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, all->ids[i]);
        require(events != NULL, "no event reader");
        OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, NULL);
        require(OTF2_Reader_ReadAllLocalEvents(reader, events, &n_read) == OTF2_SUCCESS,
                "cannot read the events of a location");
        OTF2_Reader_CloseEvtReader(reader, events);
        n_events += n_read;
    }
    OTF2_Reader_CloseEvtFiles(reader);
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    return n_events;
}

int main(int argc, char **argv)
{
    require(argc == 2, "usage: read_enter_leave ANCHOR");
    double opened = now();
    OTF2_Reader *reader = OTF2_Reader_Open(argv[1]);
    require(reader != NULL, "cannot open the archive");
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);

    Locations all = read_global_definitions(reader);
    for (size_t i = 0; i < all.n; i++) {
        OTF2_Reader_SelectLocation(reader, all.ids[i]);
    }
    read_local_definitions(reader, &all);

    double begun = now();
    uint64_t n_events = read_events(reader, &all);
    double ended = now();

    OTF2_Reader_Close(reader);
    printf("{\"events\": %" PRIu64 ", \"events_seconds\": %.6f, \"total_seconds\": %.6f}\n", n_events,
           ended - begun, now() - opened);
    free(all.ids);
    return 0;
}
