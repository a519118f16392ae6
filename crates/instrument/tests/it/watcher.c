/* Stands for the recorder: counts visits of each region, and checks that they nest. Writes at exit into the file that
 * WATCHED names, one line for each region: enters, leaves, name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct region { unsigned long long cell; int line, what; const char *name, *file; };

enum { N_MAX = 1000, DEPTH_MAX = 100000 };
static struct { char name[400]; int enters, leaves; } regions[N_MAX];
static int n_regions, depth, n_wrong;
static void *stack[DEPTH_MAX];

static int number(struct region *region) {
    if (region->cell == 0) {
        const char *name = region->what & 256 ? (const char *)&region->name : region->name;
        const char *file = region->what & 256 ? name + strlen(name) + 1 : region->file;
        const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
        char full[400];
        snprintf(full, sizeof full, "%s %s:%d%s", name, base, region->line, region->what & 1 ? " loop" : "");
        for (int i = 0; i < n_regions; i++)
            if (strcmp(regions[i].name, full) == 0) region->cell = i + 1;
        if (region->cell == 0) {
            strcpy(regions[n_regions++].name, full);
            region->cell = n_regions;
        }
    }
    return region->cell - 1;
}

void ouzel_instrument_visit(struct region *region, int what, void *frame) {
    (void)frame;
    int i = number(region);
    if (what == 0) {
        regions[i].enters++;
        stack[depth++] = region;
    } else {
        regions[i].leaves++;
        if (depth == 0 || stack[--depth] != region) n_wrong++;
    }
}

static void __attribute__((destructor)) end(void) {
    FILE *file = fopen(getenv("WATCHED"), "w");
    for (int i = 0; i < n_regions; i++)
        fprintf(file, "%d %d %s\n", regions[i].enters, regions[i].leaves, regions[i].name);
    fprintf(file, "wrong %d open %d\n", n_wrong, depth);
    fclose(file);
}
