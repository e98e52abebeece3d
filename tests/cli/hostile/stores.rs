//! The store's own folders and its lock: links, pipes and files where ctxpack makes something else.

use super::{Beside, Case, Gc, InPlace, Undo};

const LINK: &str = "it is a link";
const NO_FOLDER: &str = "it is not a folder";
const NO_FILE: &str = "it is not a regular file";

pub(super) const CASES: [Case; 19] = [
    Case {
        name: "store-link",
        attempt: "the whole store lies in a folder of the user's",
        plant: |site| site.link_home(".ctxpack", "keep"),
        told: &[(Beside, LINK), (InPlace, LINK), (Undo, LINK), (Gc, LINK)],
    },
    Case {
        name: "store-link-to-nothing",
        attempt: "a folder is made elsewhere",
        plant: |site| site.link_home(".ctxpack", "new"),
        told: &[(Beside, LINK), (InPlace, LINK), (Undo, LINK), (Gc, LINK)],
    },
    Case {
        name: "store-file",
        attempt: "a file is taken for a folder",
        plant: |site| site.write(".ctxpack", "x"),
        told: &[(Beside, NO_FOLDER), (InPlace, NO_FOLDER), (Gc, NO_FOLDER)],
    },
    Case {
        name: "store-pipe",
        attempt: "the run waits for ever",
        plant: |site| site.pipe(".ctxpack"),
        told: &[(Beside, NO_FOLDER), (InPlace, NO_FOLDER), (Gc, NO_FOLDER)],
    },
    Case {
        name: "store-device",
        attempt: "a device is opened",
        plant: |site| site.link(".ctxpack", "/dev/zero"),
        told: &[(Beside, LINK), (InPlace, LINK), (Gc, LINK)],
    },
    Case {
        name: "archive-link",
        attempt: "copies of originals are written to a folder of the user's",
        plant: |site| site.link_home(".ctxpack/archive", "keep"),
        told: &[(Beside, ".ctxpack/archive"), (InPlace, LINK)],
    },
    Case {
        name: "archive-link-to-nothing",
        attempt: "a folder is made elsewhere",
        plant: |site| site.link_home(".ctxpack/archive", "new"),
        told: &[(Beside, ".ctxpack/archive"), (InPlace, LINK)],
    },
    Case {
        name: "archive-pipe",
        attempt: "the run waits for ever",
        plant: |site| site.pipe(".ctxpack/archive"),
        told: &[(InPlace, NO_FOLDER)],
    },
    Case {
        name: "offloaded-link",
        attempt: "tool outputs are written to a folder of the user's",
        plant: |site| site.link_home(".ctxpack/offloaded", "keep"),
        told: &[(Beside, ".ctxpack/offloaded"), (InPlace, LINK)],
    },
    Case {
        name: "cache-link",
        attempt: "answers are written to a folder of the user's",
        plant: |site| site.link_home(".ctxpack/cache", "keep"),
        told: &[(Beside, ".ctxpack/cache"), (InPlace, LINK)],
    },
    Case {
        name: "manifests-link",
        attempt: "records are written to a folder of the user's",
        plant: |site| site.link_home(".ctxpack/manifests", "keep"),
        told: &[(Beside, LINK), (InPlace, LINK), (Undo, LINK), (Gc, LINK)],
    },
    Case {
        name: "manifests-file",
        attempt: "a file is taken for a folder",
        plant: |site| site.write(".ctxpack/manifests", "x"),
        told: &[(Beside, NO_FOLDER), (InPlace, NO_FOLDER), (Undo, NO_FOLDER)],
    },
    Case {
        name: "journal-link",
        attempt: "records are written to a folder of the user's",
        plant: |site| site.link_home(".ctxpack/journal", "keep"),
        told: &[(Beside, LINK), (InPlace, LINK), (Undo, LINK), (Gc, LINK)],
    },
    Case {
        name: "lock-link",
        attempt: "a file of the user's is opened for writing",
        plant: |site| site.link_home(".ctxpack/lock", ".bashrc"),
        told: &[(Beside, LINK), (InPlace, LINK), (Gc, LINK)],
    },
    Case {
        name: "lock-link-to-nothing",
        attempt: "a file is made elsewhere",
        plant: |site| site.link_home(".ctxpack/lock", "new"),
        told: &[(Beside, LINK), (InPlace, LINK), (Gc, LINK)],
    },
    Case {
        name: "lock-hard-link",
        attempt: "a file of the user's is held, so that other programs wait for it",
        plant: |site| site.hard_link(".ctxpack/lock", ".bashrc"),
        told: &[(Beside, "it has 2 hard links"), (Gc, "it has 2 hard links")],
    },
    Case {
        name: "lock-pipe",
        attempt: "the run waits for ever",
        plant: |site| site.pipe(".ctxpack/lock"),
        told: &[(Beside, NO_FILE), (InPlace, NO_FILE), (Gc, NO_FILE)],
    },
    Case {
        name: "lock-folder",
        attempt: "a folder is taken for a file",
        plant: |site| site.folder(".ctxpack/lock"),
        told: &[(Beside, NO_FILE), (InPlace, NO_FILE), (Gc, NO_FILE)],
    },
    Case {
        name: "lock-device",
        attempt: "a device is opened for writing",
        plant: |site| site.link(".ctxpack/lock", "/dev/full"),
        told: &[(Beside, LINK), (InPlace, LINK), (Gc, LINK)],
    },
];
