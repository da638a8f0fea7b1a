import CommonTesting
import Foundation
import Testing

/// Tests that links in Markdown files have a target.
struct LinkTests {
    /// All Markdown files of the repository, by their paths.
    private static var documents: [String] {
        get throws {
            let files = try #require(FileManager.default.enumerator(atPath: Repository.root.path))
            var documents: [String] = []
            while let path = files.nextObject() as? String {
                let name = URL(fileURLWithPath: path).lastPathComponent
                // Skip build results and packages.
                if name.hasPrefix(".") { files.skipDescendants() }
                if name.hasSuffix(".md"), !name.hasPrefix(".") { documents.append(path) }
            }
            return documents.sorted()
        }
    }

    /// The lines outside of code blocks, without inline code.
    private static func prose(of file: URL) throws -> [String] {
        var isCode = false
        var lines: [String] = []
        for line in try String(contentsOf: file, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            let isFence = line.drop { $0 == " " }.hasPrefix("```")
            if isFence { isCode.toggle() }
            if !isFence, !isCode { lines.append(String(line)) }
        }
        return lines
    }

    /// A heading's name in a link, by GitHub's rule: lower case, no punctuation, hyphens for spaces.
    private static func anchor(of heading: Substring) -> String {
        let text = heading.replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.1 }
        return String(
            text.lowercased().compactMap { character -> Character? in
                if character == " " { return "-" }
                return character.isLetter || character.isNumber || character == "-" || character == "_"
                    ? character : nil
            })
    }

    private static func anchors(of file: URL) throws -> Set<String> {
        Set(try prose(of: file).compactMap { $0.firstMatch(of: /^#+ +(.*?) *$/).map { anchor(of: $0.1) } })
    }

    @Test(arguments: try LinkTests.documents)
    func `Every link of a document leads to a file, and to a heading in it`(_ document: String) throws {
        let file = Repository.file(document)
        // A link may contain a line break.
        let text = try Self.prose(of: file).joined(separator: "\n").replacing(/`[^`\n]*`/, with: "")
        for match in text.matches(of: /\]\(([^)\s]+)\)/) {
            let link = String(match.1)
            if link.contains("://") || link.hasPrefix("mailto:") || link.hasPrefix("doc:") { continue }
            let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let target =
                parts[0].isEmpty ? file : file.deletingLastPathComponent().appendingPathComponent(String(parts[0]))
            #expect(FileManager.default.fileExists(atPath: target.standardizedFileURL.path), "\(link)")
            guard parts.count == 2, target.pathExtension == "md" else { continue }
            #expect(try Self.anchors(of: target.standardizedFileURL).contains(String(parts[1])), "\(link)")
        }
    }

    @Test func `docs/README.md leads to every document`() throws {
        let text = try Self.prose(of: Repository.root.appendingPathComponent("docs/README.md")).joined(separator: "\n")
        let names = try FileManager.default.contentsOfDirectory(
            atPath: Repository.root.appendingPathComponent("docs").path)
        for name in names where name.hasSuffix(".md") && name != "README.md" {
            #expect(text.contains("](\(name))"), "\(name) is missing from docs/README.md")
        }
    }
}
