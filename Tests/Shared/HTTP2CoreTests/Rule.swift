import Foundation
import Testing

/// A rule with MUST or MUST NOT of an RFC, in our own words, and what shows that it is kept.
struct Rule: Sendable, CustomTestStringConvertible {
    let section: String
    let text: String
    /// The names of tests in this target or in HTTP2Tests, or the texts of rows in their tables of broken rules.
    let tests: [String]
    /// Why no test shows it: the rule is for a part that is not here.
    let reason: String?

    init(_ section: String, _ text: String, _ tests: String...) {
        (self.section, self.text, self.tests, reason) = (section, text, tests, nil)
    }

    init(_ section: String, _ text: String, because reason: String) {
        (self.section, self.text, tests, self.reason) = (section, text, [], reason)
    }

    var testDescription: String { "\(section): \(text)" }
}

/// Each rule has a test, or a reason why it has none.
struct RuleTests {
    /// The names of the tests in the sources.
    private static let tests: Set<Substring> = {
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let folders = [here, here.deletingLastPathComponent().appendingPathComponent("HTTP2Tests")]
        let files = folders.flatMap { folder in
            (FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects ?? [])
                .compactMap { $0 as? URL }
        }
        var tests: Set<Substring> = []
        for file in files where file.pathExtension == "swift" {
            guard let source = try? String(contentsOf: file, encoding: .utf8) else { continue }
            for part in source.split(separator: "func `").dropFirst() { tests.insert(part.prefix { $0 != "`" }) }
        }
        return tests
    }()

    /// The rows of the tables whose rows are the arguments of a test.
    private static let rows: [(text: String, description: String)] =
        (ConnectionRule.ofServer + ConnectionRule.ofClient).map { ($0.text, $0.testDescription) }
        + (Malformed.requests + Malformed.responses).map { ($0.text, $0.testDescription) }

    @Test(arguments: Rule.ofRFC9113 + Rule.ofRFC7541) func `A rule has a test, or a reason`(_ rule: Rule) {
        #expect(!rule.tests.isEmpty || rule.reason != nil)
        for test in rule.tests {
            #expect(
                Self.tests.contains(Substring(test)) || Self.rows.contains { $0.text == test }, "no test: \(test)")
        }
    }

    /// A test that names a section of which no rule is listed shows that a rule was forgotten.
    @Test(arguments: [("RFC 9113", Rule.ofRFC9113), ("RFC 7541", Rule.ofRFC7541)])
    func `Each section that a test names has its rules in the list`(_ list: (String, [Rule])) {
        let (rfc, rules) = list
        let all = Self.tests.map(String.init) + Self.rows.map(\.description)
        let names = all.filter { $0.hasPrefix("\(rfc), ") }
        #expect(names.count > 10)
        let sections = Set(rules.map(\.section))
        for name in names {
            let section = name.dropFirst(rfc.count + 2).prefix { $0 != ":" && $0 != " " }
            guard section.first?.isNumber == true else { continue }
            #expect(sections.contains(String(section)), "\(name)")
        }
    }
}
