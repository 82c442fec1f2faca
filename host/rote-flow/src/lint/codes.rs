//! The codes, one line each. A code never changes its meaning.

/// Every code with what it means.
pub const LINT_CODES: [(&str, &str); 48] = [
    ("ADAPTER_DRIFT", "an installed adapter is not the pinned one"),
    ("ADAPTER_MISSING", "a pinned adapter is not installed"),
    ("ADAPTER_UNDECLARED", "a call goes to an adapter that the frontmatter does not pin"),
    ("ADAPTER_UNUSED", "a pinned adapter is not called"),
    ("ARGUMENT_UNFIT", "an installed tool refuses what a step sends"),
    ("CALLS_UNASKED", "a replay did not ask for a recorded call"),
    ("CALLS_UNSEEN", "what a component calls cannot be read from its code"),
    ("DESCRIPTION_MISSING", "there is no description"),
    ("DESCRIPTION_SHORT", "the description is too short to find the flow by"),
    ("FLOW_PIN_DRAFT", "a pinned flow is not released"),
    ("FLOW_PIN_DRIFT", "a pinned flow is another one by now"),
    ("FLOW_PIN_MISSING", "a pinned flow does not exist here"),
    ("IMPORT_MISSING", "the component does not import what its frontmatter is about"),
    ("IMPORT_UNNEEDED", "the component imports what its frontmatter gives it no use for"),
    ("KIND_MISMATCH", "`kind` contradicts the pinned flows"),
    ("LITERAL_VARIES", "a literal looks like a value that differs from run to run"),
    ("NAME_MISMATCH", "the file is kept under another name than its own"),
    ("OUTPUT_FORMAT", "the output format is not `json`"),
    ("OUTPUT_HUMAN_MISSING", "a run shows a person nothing"),
    ("OUTPUT_SCHEMA_INVALID", "the schema of the result is not a JSON Schema"),
    ("OUTPUT_SCHEMA_MISSING", "the schema of the result is missing"),
    ("OUTPUT_SUMMARY_MISSING", "a run has no summary line"),
    ("PARAMETER_DESCRIPTION_MISSING", "a parameter has no description"),
    ("PARAMETER_EXAMPLE_MISSING", "a parameter has no example"),
    ("PARAMETER_UNDECLARED", "a parameter is used and not declared"),
    ("PARAMETER_UNUSED", "a declared parameter is not used"),
    ("PARAMETER_VALUE_INVALID", "a default or an example does not fit its own schema"),
    ("QUERY_SYNTAX", "a jq program does not parse"),
    ("QUESTION_OPEN", "nobody has said what the recording did not decide"),
    ("RECORDING_MISSING", "there is no recording to replay"),
    ("RECORDING_OTHER", "the recording is of another flow"),
    ("REPLAY_DIFFERS", "a replay gives another result than was recorded"),
    ("REPLAY_FAILED", "a replay ends without a result"),
    ("REPLAY_STALE", "a replay asks for something that was not recorded"),
    ("RESPONSE_ID_LEAK", "a literal names a response of some workspace"),
    ("RESULT_MISSING", "the result has nothing to do with what the flow did"),
    ("RESULT_SCHEMA", "the result does not fit the schema in the frontmatter"),
    ("SECRET_LITERAL", "a literal looks like a secret"),
    ("STATUS_DRAFT", "the flow is a draft"),
    ("STEP_UNUSED", "nothing uses what a step reads"),
    ("TEMPLATE_OTHER", "the code is not this rote's template of its form"),
    ("TOOL_UNDECLARED", "a call goes to a tool that the frontmatter does not pin"),
    ("TOOL_UNUSED", "a pinned tool is not called"),
    ("VERSION_INVALID", "the version is not `x.y.z`"),
    ("WORLD_MISMATCH", "the component does not fit the world of flows"),
    ("WORLD_VERSION", "the component was built for another version of the host"),
    ("WRITE_PERMISSION_MISSING", "a tool that writes is used without a permission"),
    ("WRITE_PERMISSION_UNUSED", "a permission is for nothing that the flow does"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_unique() {
        assert!(LINT_CODES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
