//! Compiles the kubelet's device plugin API to Rust. protox reads the `.proto`, so no protoc is needed.

use std::error::Error;

const FOLDER: &str = "src/device_plugin";
const FILE: &str = "v1beta1.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={FOLDER}/{FILE}");
    let files = protox::compile([FILE], [FOLDER])?;
    tonic_prost_build::configure().compile_fds(files)?;
    Ok(())
}
