import Foundation
import Notifications
import ProviderServer
import Rates
import Service
import Testing

/// Tests that the documents agree with the code.
struct DocumentsTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func lines(_ path: String) throws -> [Substring] {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
    }

    @Test(arguments: Rejection.Reason.allCases)
    func `docs/provider-api.md has the row of each reason as the table has it`(_ reason: Rejection.Reason) throws {
        let row = reason.row
        let expected = "| \(row.status) | `\(reason.rawValue)` | \(row.meaning) | \(row.advice.rawValue) |"
        #expect(try Self.lines("docs/provider-api.md").contains { $0 == expected })
    }

    @Test(arguments: LimitSetting.all.map(\.name))
    func `docs/settings.md has a row for each limit`(_ name: String) throws {
        let rows = try Self.lines("docs/settings.md").filter { $0.hasPrefix("| `limit.\(name)` |") }
        #expect(rows.count == 1)
    }

    @Test(arguments: ProviderLimitSetting.all)
    func `docs/provider-server.md has a row for each limit that is a setting`(_ limit: ProviderLimitSetting) throws {
        let rows = try Self.lines("docs/provider-server.md").filter { $0.hasPrefix("| `\(limit.variable)` |") }
        #expect(rows.count == 1 && rows.first?.contains(limit.meaning) == true)
    }

    @Test(arguments: Limit.all)
    func `docs/metrics.md has a row for each limit that is counted`(_ limit: Limit) throws {
        let rows = try Self.lines("docs/metrics.md").filter { $0.hasPrefix("| `\(limit.rawValue)` |") }
        #expect(rows.count == 1)
        // Limits that no setting changes have names of their own.
        let isSetting = LimitSetting.all.contains { $0.name == limit.rawValue }
        #expect(isSetting != ["flood", "open-files", "remembered-tokens"].contains(limit.rawValue))
    }

    @Test func `docs/metrics.md has a row for each metric, and no other`() throws {
        let code = try Self.lines("Sources/Service/Metrics/ServiceMetrics.swift").joined(separator: "\n")
        let names = Set(code.matches(of: /label: "(carillon_[a-z_]+)"/).map { String($0.1) })
        let rows = try Self.lines("docs/metrics.md").compactMap { $0.firstMatch(of: /^\| `(carillon_[a-z_]+)/) }
        #expect(!names.isEmpty && Set(rows.map { String($0.1) }) == names && rows.count == names.count)
    }

    /// script/package reads the version there, too.
    @Test func `The version is the newest release of CHANGELOG.md`() throws {
        let releases = try Self.lines("CHANGELOG.md").compactMap { $0.firstMatch(of: /^## \[(\d+\.\d+\.\d+)\]/) }
        let code = try Self.lines("Sources/carillon/Version.swift").joined(separator: "\n")
        let version = code.firstMatch(of: /number = "(.*)"/).map { String($0.1) }
        #expect(version != nil && version == releases.first.map { String($0.1) })
    }

    /// Documents name the tests that check a promise.
    @Test func `Every test that a document names exists`() throws {
        var files: Set<String> = []
        let tests = try #require(FileManager.default.enumerator(atPath: Self.root.path + "/Tests"))
        for case let path as String in tests { files.insert(URL(fileURLWithPath: path).lastPathComponent) }
        for document in try FileManager.default.contentsOfDirectory(atPath: Self.root.path + "/docs")
        where document.hasSuffix(".md") {
            let text = try Self.lines("docs/\(document)").joined(separator: "\n")
            for match in text.matches(of: /`([A-Z][A-Za-z0-9]*Tests)`/) {
                let name = String(match.1)
                #expect(files.contains("\(name).swift") || files.contains(name), "\(document) names \(name)")
            }
        }
    }

    /// The rows of ARCHITECTURE.md's table of targets, by name.
    @Test func `ARCHITECTURE.md lists every target of Package.swift`() throws {
        let manifest = try Self.lines("Package.swift").joined(separator: "\n")
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: Self.root.appendingPathComponent("Sources").path)
        let table = try Self.lines("ARCHITECTURE.md").filter { $0.hasPrefix("|") }
        for folder in folders where !folder.hasPrefix(".") {
            #expect(manifest.contains("\"\(folder)\""))
            #expect(table.contains { $0.contains("`\(folder)`") }, "\(folder) is missing from ARCHITECTURE.md")
        }
    }
    /// The table does not have modules that come with the compiler.
    private static let systemModules: Set<Substring> = [
        "Dispatch", "Foundation", "Synchronization", "Glibc", "Musl", "Darwin",
    ]

    @Test(arguments: try DocumentsTests.targets)
    func `A target imports what its row in ARCHITECTURE.md names`(_ target: String) throws {
        let row = try #require(Self.lines("ARCHITECTURE.md").first { $0.hasPrefix("| `\(target)` |") })
        let columns = row.split(separator: "|")
        let named = try Set(#require(columns.dropFirst(2).first).matches(of: /[A-Z]\w+/).map(\.output))
        let files = try #require(FileManager.default.enumerator(atPath: Self.root.path + "/Sources/\(target)"))
        var imported: Set<Substring> = []
        for case let path as String in files where path.hasSuffix(".swift") {
            let text = try Self.lines("Sources/\(target)/\(path)").joined(separator: "\n")
            let imports = text.matches(of: /(?m)^ *(?:\w+ |@\w+ )*import (?:struct |class |enum |func )?(\w+)/)
            for match in imports { imported.insert(Substring(String(match.1))) }
        }
        #expect(imported.subtracting(Self.systemModules) == named)
    }

    private static var targets: [String] {
        get throws {
            let folders = try FileManager.default.contentsOfDirectory(atPath: root.path + "/Sources")
            return folders.sorted().filter { folder in
                // A system library has a module map instead of sources.
                let map = "\(root.path)/Sources/\(folder)/module.modulemap"
                return !folder.hasPrefix(".") && !FileManager.default.fileExists(atPath: map)
            }
        }
    }
}
