import Foundation
import FuzzEntries

// Hands one entry to libFuzzer, which tries whatever reaches new code. script/fuzz builds and runs it.

/// libFuzzer's own loop (compiler-rt, FuzzerInterface.h). The package manager takes the process's main function for
/// this file, so libFuzzer's is called from here.
@_silgen_name("LLVMFuzzerRunDriver")
func runLibFuzzer(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt,
) -> CInt

/// The name that libFuzzer looks for.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Fuzzing.entry.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}

enum Fuzzing {
    /// Which entry: in the environment, because libFuzzer owns the arguments.
    static let entry = ProcessInfo.processInfo.environment["FUZZ_ENTRY"].flatMap(FuzzEntry.init(rawValue:)) ?? .payload
}

var count = CommandLine.argc
var arguments = CommandLine.unsafeArgv
exit(runLibFuzzer(&count, &arguments, fuzzOneInput))
