import CommonTesting
import Foundation
import Testing

/// The code in the article equals the code that is compiled beside this file.
struct GettingStartedTests {
    private static let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    @Test func `Every code block of the article compiles`() throws {
        let article = Repository.file(
            "Sources/Libraries/APNSDevice/APNSDevice.docc/GettingStarted.md")
        let example = try String(
            contentsOf: here.appendingPathComponent("GettingStartedExample.swift"), encoding: .utf8)
        let text = try String(contentsOf: article, encoding: .utf8)
        let blocks = text.components(separatedBy: "```swift\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0] }
        #expect(blocks.count == 5)
        for block in blocks { #expect(example.contains(block), "\(block)") }
    }

    private var here: URL { Self.here }
}
