import CommonTesting
import Foundation
import FuzzEntries
import Testing

/// Every file of the corpus is read without a crash, even those that once caused one.
struct CorpusTests {
    private static func folder(_ entry: FuzzEntry) -> URL {
        Repository.file("Tests/Fuzzing/Corpus/\(entry.rawValue)")
    }

    @Test(arguments: FuzzEntry.allCases) func `The corpus can be read`(_ entry: FuzzEntry) throws {
        let files = try FileManager.default.contentsOfDirectory(
            at: Self.folder(entry), includingPropertiesForKeys: nil)
        #expect(!files.isEmpty)
        for file in files { entry.run(Array(try Data(contentsOf: file))) }
    }

    /// Without a valid token, the fuzzer would not get beyond the look-up of the key.
    @Test func `The corpus has a valid provider token`() throws {
        let good = try Data(contentsOf: Self.folder(.providerToken).appendingPathComponent("signed"))
        #expect(FuzzEntry.isGood(Array(good)))
        let late = try Data(contentsOf: Self.folder(.providerToken).appendingPathComponent("signed-late"))
        #expect(!FuzzEntry.isGood(Array(late)))
    }

    /// Without them, the fuzzer would not get beyond the header of a message.
    @Test(arguments: ["register-1", "register-2", "unregister-1", "unregister-2"])
    func `The corpus has calls that the distributor takes`(_ name: String) throws {
        let call = try Data(contentsOf: Self.folder(.busMessage).appendingPathComponent(name))
        #expect(FuzzEntry.isDistributorRequest(Array(call)))
    }

    @Test(arguments: ["number", "string", "milliseconds", "ahead"]) func `The corpus has valid claims`(
        name: String
    ) throws {
        let lines = try String(contentsOf: Self.folder(.providerClaims).appendingPathComponent(name), encoding: .utf8)
            .split(separator: "\n")
        let authorization = FuzzKey.authorization(header: Array(lines[0].utf8), claims: Array(lines[1].utf8))
        #expect(FuzzEntry.isGood(authorization))
    }

    /// Without them, the fuzzer would not get beyond the look-up of the operation.
    @Test(arguments: [
        (FuzzEntry.managementRequest, ["log", "teams-page", "requests", "wait", "rehearsal", "fixture", "clock"]),
        (FuzzEntry.providerRequest, ["message", "messages-page", "outcomes", "installation", "patch", "audience"]),
    ]) func `The corpus has requests that the APIs take`(_ entry: FuzzEntry, _ names: [String]) throws {
        for name in names {
            let request = try Data(contentsOf: Self.folder(entry).appendingPathComponent(name))
            #expect(FuzzEntry.isTaken(Array(request), by: entry), "\(name)")
        }
    }

    @Test(arguments: FuzzEntry.allCases) func `Every prefix and every changed byte of the corpus is handled`(
        _ entry: FuzzEntry
    ) throws {
        let files = try FileManager.default.contentsOfDirectory(
            at: Self.folder(entry), includingPropertiesForKeys: nil)
        for file in files {
            let bytes = Array(try Data(contentsOf: file).prefix(600))
            for index in bytes.indices {
                entry.run(Array(bytes[..<index]))
                var changed = bytes
                changed[index] ^= UInt8(truncatingIfNeeded: index | 1)
                entry.run(changed)
            }
        }
    }
}
