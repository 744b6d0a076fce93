//! The files of a partition agree with each other as real brokers leave them.

use milena_storage::{Item, Options, verify};

use crate::folder::{RELEASES, unpack};

#[test]
fn the_files_of_real_brokers_agree() {
    for release in RELEASES {
        let folder = unpack(release, "verify");
        let mut verified = 0;
        let summary = verify(&folder, &Options::default(), &mut |item| {
            match item {
                Item::Fault(fault) => panic!("{release}: {fault}"),
                Item::Verified(_) | Item::Skipped(_) => verified += 1,
                _ => {}
            }
            Ok(None)
        });
        assert_eq!(summary.unwrap().files, verified);
    }
}
