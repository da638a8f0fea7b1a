import Foundation
import Testing

/// A rule with MUST or MUST NOT of an RFC, in our own words, and what shows that it is kept.
struct Rule: Sendable, CustomTestStringConvertible {
    let section: String
    let text: String
    /// The names of tests, or the texts of rows in a test's table. They are in this target, or in HTTP2Tests.
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
    /// The texts in backquotes and in quotes in the sources of the tests, without the rules themselves.
    private static let texts: Set<Substring> = {
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let folders = [here, here.deletingLastPathComponent().appendingPathComponent("HTTP2Tests")]
        let files = folders.flatMap { folder in
            (FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects ?? [])
                .compactMap { $0 as? URL }
        }
        var texts: Set<Substring> = []
        for file in files where file.pathExtension == "swift" && !file.lastPathComponent.hasSuffix("Rules.swift") {
            guard let source = try? String(contentsOf: file, encoding: .utf8) else { continue }
            texts.formUnion(source.split(separator: "`"))
            texts.formUnion(source.split(separator: "\""))
        }
        return texts
    }()

    @Test(arguments: Rule.ofRFC9113 + Rule.ofRFC7541) func `A rule has a test, or a reason`(_ rule: Rule) {
        #expect(!rule.tests.isEmpty || rule.reason != nil)
        for test in rule.tests {
            #expect(Self.texts.contains(Substring(test)), "no test: \(test)")
        }
    }

    /// A test that names a section of which no rule is listed shows that a rule was forgotten.
    @Test(arguments: [("RFC 9113", Rule.ofRFC9113), ("RFC 7541", Rule.ofRFC7541)])
    func `Each section that a test names has its rules in the list`(_ list: (String, [Rule])) {
        let (rfc, rules) = list
        let names = Self.texts.filter { $0.hasPrefix("\(rfc), ") }
        #expect(names.count > 10)
        let sections = Set(rules.map(\.section))
        for name in names {
            let section = name.dropFirst(rfc.count + 2).prefix { $0 != ":" && $0 != " " }
            guard section.first?.isNumber == true else { continue }
            #expect(sections.contains(String(section)), "\(name)")
        }
    }
}
