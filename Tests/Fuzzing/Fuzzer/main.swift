import Foundation
import FuzzEntries

// Passes one entry to libFuzzer, which looks for inputs that reach new code. script/fuzz builds and runs this.

/// libFuzzer's loop (compiler-rt, FuzzerInterface.h). The package manager uses this file's main function, so
/// libFuzzer's is called from here.
@_silgen_name("LLVMFuzzerRunDriver")
func runLibFuzzer(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt,
) -> CInt

/// libFuzzer looks for this name.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Fuzzing.entry.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}

enum Fuzzing {
    /// The name of the entry. It is in the environment, because libFuzzer reads the arguments.
    static let entry = ProcessInfo.processInfo.environment["FUZZ_ENTRY"].flatMap(FuzzEntry.init(rawValue:)) ?? .payload
}

var count = CommandLine.argc
var arguments = CommandLine.unsafeArgv
exit(runLibFuzzer(&count, &arguments, fuzzOneInput))
