//! Says when the user's own configuration would push checkpoints somewhere.

use crate::git::remote::Exposure;
use crate::ui::Ui;

/// A warning, and the commands that make it untrue.
pub(super) fn tell(exposure: &Exposure, ui: &mut Ui) {
    ui.warn(&exposure.what);
    for command in &exposure.remedy {
        ui.say(format_args!("hint: {command}"));
    }
}
