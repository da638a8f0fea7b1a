import FuzzEntries
import Foundation

/// Which entry is fuzzed: script/fuzz says it in the environment, because libFuzzer owns the arguments.
private let entry = ProcessInfo.processInfo.environment["FUZZ_ENTRY"].flatMap(FuzzEntry.init(rawValue:)) ?? .payload

/// What libFuzzer calls with each input that it tries.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    entry.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
