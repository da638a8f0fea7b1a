import Foundation
import Notifications
import CommonTesting
import Testing

/// Properties that hold for any body, checked with many random ones.
@Suite("Payload: properties")
struct PayloadPropertyTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `The white space between tokens does not change the result`(seed: UInt64) throws {
        var random = RandomJSON(seed: seed)
        for _ in 0..<20 {
            let tokens = random.dictionary()
            let expected = Array(tokens.joined().utf8)
            let contents = try Payload(expected).contents
            for _ in 0..<3 {
                let payload = try Payload(random.spaced(tokens))
                #expect(payload.json == expected, "seed \(seed)")
                #expect(payload.contents == contents, "seed \(seed)")
            }
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `A damaged body is accepted exactly if Foundation accepts it`(seed: UInt64) {
        var random = RandomJSON(seed: seed)
        for _ in 0..<100 {
            let tokens = random.dictionary()
            let whole = random.spaced(tokens)
            let body = Self.damaged(whole, using: &random.generator)
            let isTaken = (try? Payload(body)) != nil
            guard isTaken != Self.foundationTakes(body) else { continue }
            #expect(
                Self.lawfulDifference(body, isTaken: isTaken) != nil,
                "seed \(seed), taken \(isTaken): \(String(reflecting: String(decoding: body, as: UTF8.self)))")
        }
    }

    private static func foundationTakes(_ body: [UInt8]) -> Bool {
        (try? JSONSerialization.jsonObject(with: Data(body))) is [String: Any]
    }

    private static let bytes: [UInt8] = {
        var bytes = Array(#"{}[]",:\/bfnrtu0123456789.-+eEaps truefalsn"#.utf8)
        bytes += [0x00, 0x09, 0x1f, 0x80, 0xc3, 0xe2, 0xff]
        return bytes
    }()

    /// Changes, removes, doubles or cuts a few bytes.
    private static func damaged(_ whole: [UInt8], using generator: inout SeededGenerator) -> [UInt8] {
        var body = whole
        for _ in 0..<Int.random(in: 1...2, using: &generator) where !body.isEmpty {
            let index = Int.random(in: 0..<body.count, using: &generator)
            let byte = bytes[Int.random(in: 0..<bytes.count, using: &generator)]
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: body[index] = byte
            case 1: body.insert(byte, at: index)
            case 2: body.remove(at: index)
            case 3: body.insert(body[index], at: index)
            default: body.removeSubrange(index...)
            }
        }
        return body
    }

    /// Returns the construct in the body that explains why the two readers differ, because JSON allows both results or
    /// Foundation is wrong; nil if there is none.
    private static func lawfulDifference(_ body: [UInt8], isTaken: Bool) -> String? {
        guard let text = String(validating: body, as: UTF8.self) else { return nil }
        if isTaken {
            // Unpaired escaped surrogates are allowed by the grammar (RFC 8259, 8.2), but Foundation refuses them.
            // Numbers of any size are allowed (RFC 8259, 6), but Foundation refuses those that do not fit into a
            // Double.
            let tame = text.replacing(/\\u[dD][89a-fA-F]../, with: #"\u0041"#).replacing(
                /[eE][+\-]?[0-9]{3,}/, with: "e1")
            return tame != text && foundationTakes(Array(tame.utf8)) ? "a surrogate or a number beyond Double" : nil
        }
        // A comma before a closing bracket is not allowed (RFC 8259, 5), but Foundation accepts it.
        let fixed = text.replacing(/,\s*([\]\}])/) { $0.output.1 }
        return (try? Payload(Array(fixed.utf8))) != nil ? "a comma too many" : nil
    }
}
