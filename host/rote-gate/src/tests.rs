//! The gate against real loopback servers: what is sent, what is not, what is recorded, what stays secret.

mod audit;
mod binding;
mod confirm;
mod credential;
mod doubts;
mod egress;
mod headers;
mod keys;
mod policy;
mod redaction;
mod same;
mod stages;
mod support;
mod tasks;
mod upstream;
