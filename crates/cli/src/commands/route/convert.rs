//! `heddle route convert`: tables in another form.

use clap::Args;

use super::{TablesFormat, tables_file};
use crate::Answer;
use crate::failure::Failure;
use crate::files;

/// Options of `heddle route convert`.
#[derive(Args)]
#[command(after_help = "Example:\n  heddle route convert opensm-subnet.lst site.lfts -o opensm.fdbs\n  \
    ibdmchk -s opensm-subnet.lst -f opensm.fdbs")]
pub struct Convert {
    /// A topology file with LIDs: ibnetdiscover output, opensm-subnet.lst
    file: String,
    /// The tables: what dump_lfts printed, or OpenSM's opensm.fdbs
    tables: String,
    /// Write to this file: .fdbs gives OpenSM's form, anything else that of dump_lfts
    #[arg(short, long, value_name = "FILE", default_value = "-", hide_default_value = true)]
    output: String,
    /// Form of the tables, whatever the ending
    #[arg(long, value_enum)]
    format: Option<TablesFormat>,
}

impl Convert {
    /// Reads and writes.
    pub fn run(self) -> Result<Answer, Failure> {
        let fabric = files::read_fabric(&self.file)?.fabric;
        let tables = tables_file::load(&self.tables, &fabric)?;
        let format = self.format.unwrap_or_else(|| TablesFormat::from_path_ending(&self.output));
        files::write(&self.output, tables_file::write(&fabric, &tables, format).as_bytes())?;
        Ok(Answer::Yes)
    }
}
