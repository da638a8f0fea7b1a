import CommonTesting
import Foundation
import Matching
import Notifications
import ProviderServer
import Rates
import Service
import Testing

/// Tests that the documents agree with the code.
struct DocumentsTests {
    private static func lines(_ path: String) throws -> [Substring] {
        try Repository.text(path)
            .split(separator: "\n", omittingEmptySubsequences: false)
    }

    @Test(arguments: Rejection.Reason.allCases)
    func `docs/provider-api.md has the row of each reason as the table has it`(_ reason: Rejection.Reason) throws {
        let row = reason.row
        let expected = "| \(row.status) | `\(reason.rawValue)` | \(row.meaning) | \(row.advice.text) |"
        #expect(try Self.lines("docs/provider-api.md").contains { $0 == expected })
    }

    /// The names of the library's constants are those of the table.
    @Test(arguments: Rejection.Reason.allCases)
    func `The provider library has a constant for each reason`(_ reason: Rejection.Reason) throws {
        // Two spellings of one reason.
        guard reason != .badEnvironmentKeyInToken else { return }
        let constant = "        public static let \(reason) = Reason(.\(reason))"
        #expect(
            try Self.lines("Sources/Libraries/APNSProvider/Answers/PushRejection.swift").contains { $0 == constant })
    }

    @Test(arguments: PushType.allCases)
    func `The documents and the provider library have each push type`(_ type: PushType) throws {
        for document in ["docs/provider-api.md", "docs/current-apns.md"] {
            let rows = try Self.lines(document).map { $0.split(separator: "|").drop { $0.allSatisfy(\.isWhitespace) } }
            let suffix = type.topicKind?.suffix ?? ""
            let hasRow = rows.contains { cells in
                cells.count >= 2 && cells[cells.startIndex].contains("`\(type.rawValue)`")
                    && (suffix.isEmpty || cells[cells.startIndex + 1].contains("`\(suffix)`"))
            }
            #expect(hasRow, "\(document)")
        }
        let code = try Self.lines("Sources/Shared/Notifications/PushType.swift")
        #expect(code.contains { $0.hasSuffix(" = PushType(.\(type.known.map { "\($0)" } ?? ""))") })
    }

    @Test(arguments: TopicKind.allCases.compactMap(\.serviceName))
    func `The documents about devices name each service`(_ service: String) throws {
        for document in ["docs/device-protocol.md", "docs/device-listen.md", "docs/provider-server.md"] {
            #expect(try Self.lines(document).contains { $0.contains("`\(service)`") }, "\(document)")
        }
    }

    @Test(arguments: FaultName.allCases) func `docs/testing.md has a row for each fault`(_ fault: FaultName) throws {
        #expect(try Self.lines("docs/testing.md").contains { $0.hasPrefix("| `{\"\(fault.rawValue)\":") })
    }

    /// The numbers and the words are those of the code; the row adds what happens beyond the limit, and how to choose it.
    @Test(arguments: Settings.limits.map(\.name))
    func `docs/settings.md says of each limit what the code says, and how to choose it`(_ name: String) throws {
        let setting = try #require(Settings.limits.first { $0.name == name })
        let rows = try Self.lines("docs/settings.md").filter { $0.hasPrefix("| `limit.\(name)` |") }
        let cells = try #require(rows.first).split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        try #require(rows.count == 1 && cells.count == 5)
        var standard = Self.shown(setting.number(in: Settings()))
        if let other = setting.forTests, other > 0 { standard += "; for tests \(Self.shown(other))" }
        #expect(cells[1] == standard)
        #expect(cells[2] == "\(Self.shown(setting.range.lowerBound)) – \(Self.shown(setting.range.upperBound))")
        let words = cells[3].replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.output.1 }
        #expect(words == setting.meaning || words.hasPrefix(setting.meaning + ": "))
        #expect(!cells[4].isEmpty)
    }

    /// A number with commas between its thousands.
    private static func shown(_ number: Double) -> String {
        var text = "\(Int(number))"
        for place in stride(from: text.count - 3, to: 0, by: -3) {
            text.insert(",", at: text.index(text.startIndex, offsetBy: place))
        }
        return text
    }

    @Test(arguments: ProviderServerLimits.settings.map(\.name))
    func `docs/provider-server.md has a row for each limit that is a setting`(_ name: String) throws {
        let setting = try #require(ProviderServerLimits.settings.first { $0.name == name })
        let rows = try Self.lines("docs/provider-server.md").filter { $0.hasPrefix("| `\(setting.variable)` |") }
        let standard = Self.shown(setting.number(in: ProviderServer.Settings(folder: "/")))
        #expect(rows.count == 1 && rows.first?.contains("| \(standard) | \(setting.meaning)") == true)
    }

    @Test(arguments: Limit.all)
    func `docs/metrics.md has a row for each limit that is counted`(_ limit: Limit) throws {
        let rows = try Self.lines("docs/metrics.md").filter { $0.hasPrefix("| `\(limit.rawValue)` |") }
        #expect(rows.count == 1)
        // Limits that no setting changes have names of their own.
        let constants = [
            "flood", "grant-rate", "open-files", "remembered-tokens", "binary-linger-timeout", "feedback-timeout",
            "node-broadcasts",
        ]
        #expect(Settings.limits.contains { $0.name == limit.rawValue } != constants.contains(limit.rawValue))
    }

    @Test func `docs/metrics.md has a row for each metric, and no other`() throws {
        let files = [
            "Service/Metrics/ServiceMetrics.swift", "Service/Metrics/ClusterMetrics.swift",
            "Upstream/UpstreamMetrics.swift",
        ]
        let code = try files.flatMap { try Self.lines("Sources/Service/" + $0) }.joined(separator: "\n")
        let names = Set(code.matches(of: /(?:label: |meter\()"(carillon_[a-z_]+)"/).map { String($0.1) })
        let rows = try Self.lines("docs/metrics.md").compactMap { $0.firstMatch(of: /^\| `(carillon_[a-z_]+)/) }
        #expect(!names.isEmpty && Set(rows.map { String($0.1) }) == names && rows.count == names.count)
    }

    /// script/package reads the version there, too.
    @Test func `The version is the newest release of CHANGELOG.md`() throws {
        let releases = try Self.lines("CHANGELOG.md").compactMap { $0.firstMatch(of: /^## \[(\d+\.\d+\.\d+)\]/) }
        let code = try Self.lines("Sources/Shared/CommandSupport/Version.swift").joined(separator: "\n")
        let version = code.firstMatch(of: /number = "(.*)"/).map { String($0.1) }
        #expect(version != nil && version == releases.first.map { String($0.1) })
    }

    /// Documents name the tests that check a promise.
    @Test func `Every test that a document names exists`() throws {
        var files: Set<String> = []
        let tests = try #require(FileManager.default.enumerator(atPath: Repository.file("Tests").path))
        for case let path as String in tests { files.insert(URL(fileURLWithPath: path).lastPathComponent) }
        for document in try FileManager.default.contentsOfDirectory(atPath: Repository.file("docs").path)
        where document.hasSuffix(".md") {
            let text = try Self.lines("docs/\(document)").joined(separator: "\n")
            for match in text.matches(of: /`([A-Z][A-Za-z0-9]*Tests)`/) {
                let name = String(match.1)
                #expect(files.contains("\(name).swift") || files.contains(name), "\(document) names \(name)")
            }
        }
    }

    /// The journey names files with their folders or topics, and the tables of CONTRIBUTING.md name those of a change.
    @Test(arguments: ["docs/journey.md", "CONTRIBUTING.md"])
    func `A file that a document names exists`(_ document: String) throws {
        var files: Set<String> = []
        for folder in ["Sources", "Tests", "docs", "script"] {
            let found = try #require(FileManager.default.enumerator(atPath: Repository.file(folder).path))
            for case let path as String in found {
                files.insert("/\(folder)/\(path)")
                files.insert("/\(folder)/" + path.replacing(/\.\w+$/, with: ""))
            }
        }
        let lines = try Self.lines(document).filter { document != "CONTRIBUTING.md" || $0.hasPrefix("|") }
        let names = lines.joined(separator: "\n").matches(of: /`(\w+(?:[\/+]\w+)+(?:\.\w+)?|\w+\.swift)`/).map {
            String($0.1)
        }
        for name in names { #expect(files.contains { $0.hasSuffix("/\(name)") }, "\(name)") }
    }

    // MARK: The table of targets

    /// A folder below Sources, and the folders of its targets.
    struct Group: CustomTestStringConvertible {
        let name: String
        let targets: [String]
        var testDescription: String { name }

        /// The path of a target below Sources. The target of a program is a group of its own.
        func path(_ target: String) -> String { target == name && targets == [name] ? target : "\(name)/\(target)" }
    }

    private static func folders(_ path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: Repository.file(path).path)
            .filter { !$0.hasPrefix(".") }.sorted()
    }

    /// The groups as the folders have them.
    private static var groups: [Group] {
        get throws {
            try folders("Sources").map { group in
                ["carillon", "CarillonAgent"].contains(group)
                    ? Group(name: group, targets: [group])
                    : Group(name: group, targets: try folders("Sources/\(group)"))
            }
        }
    }

    /// The headings and rows of ARCHITECTURE.md's table, in their order.
    private static var table: [Group] {
        get throws {
            var groups: [Group] = []
            for line in try lines("ARCHITECTURE.md") {
                if let heading = line.firstMatch(of: /^### `Sources\/(\w+)`/) {
                    groups.append(Group(name: String(heading.1), targets: []))
                } else if line.hasPrefix("#"), !groups.isEmpty {
                    return groups
                } else if let row = line.firstMatch(of: /^\| `(\w+)` \|/), let group = groups.popLast() {
                    groups.append(Group(name: group.name, targets: group.targets + [String(row.1)]))
                }
            }
            return groups
        }
    }

    @Test func `ARCHITECTURE.md has a heading for each folder of Sources, and a row for each target`() throws {
        let table = try Self.table
        let folders = try Self.groups
        #expect(Set(table.map(\.name)) == Set(folders.map(\.name)))
        for folder in folders {
            let rows = table.first { $0.name == folder.name }?.targets
            #expect(rows?.sorted() == folder.targets, "the rows below Sources/\(folder.name)")
        }
    }

    @Test func `Package.swift has the same targets in the same order as ARCHITECTURE.md`() throws {
        let manifest = try Self.lines("Package.swift").joined(separator: "\n")
        let paths = manifest.matches(of: /"Sources\/((?:\w+\/)?\w+)"/).map { String($0.1) }
        #expect(paths == (try Self.table.flatMap { group in group.targets.map(group.path) }))
    }

    /// The tests themselves have no rows.
    @Test func `Package.swift has the same targets outside of Sources in the same order as ARCHITECTURE.md`() throws {
        let manifest = try Self.lines("Package.swift").joined(separator: "\n")
        let module = /module\(\s*"Tests\/(?:\w+\/)*(\w+)"/
        let other =
            /(?:arget|systemLibrary)\(\s*name: "(\w+)",\s*(?:dependencies: \[[^\]]*\],\s*)?path: "(?:Tests|Benchmarks)\//
        let targets = (manifest.matches(of: module) + manifest.matches(of: other))
            .sorted { $0.range.lowerBound < $1.range.lowerBound }.map { String($0.1) }
        let rows = try Self.lines("ARCHITECTURE.md").drop { $0 != "### `Tests`" }
            .compactMap { $0.firstMatch(of: /^\| `(\w+)` \|/).map { String($0.1) } }
        #expect(targets == rows)
    }

    /// The table does not have modules that come with the compiler.
    private static let systemModules: Set<Substring> = [
        "Dispatch", "CDispatch", "Foundation", "Synchronization", "Glibc", "Musl", "Darwin",
    ]

    @Test(arguments: try DocumentsTests.paths)
    func `A target imports what its row in ARCHITECTURE.md names`(_ path: String) throws {
        let target = path.split(separator: "/").last ?? ""
        let row = try #require(Self.lines("ARCHITECTURE.md").first { $0.hasPrefix("| `\(target)` |") })
        let columns = row.split(separator: "|")
        let named = try Set(#require(columns.dropFirst(2).first).matches(of: /[A-Z]\w+/).map(\.output))
        let files = try #require(FileManager.default.enumerator(atPath: Repository.file("Sources/\(path)").path))
        var imported: Set<Substring> = []
        for case let file as String in files where file.hasSuffix(".swift") {
            let text = try Self.lines("Sources/\(path)/\(file)").joined(separator: "\n")
            let imports = text.matches(of: /(?m)^ *(?:\w+ |@\w+ )*import (?:struct |class |enum |func )?(\w+)/)
            for match in imports { imported.insert(Substring(String(match.1))) }
        }
        #expect(imported.subtracting(Self.systemModules) == named)
    }

    /// The paths of the targets with sources in Swift. The others have a module map instead.
    private static var paths: [String] {
        get throws {
            try groups.filter { $0.name != "System" }.flatMap { group in group.targets.map(group.path) }
        }
    }
}
