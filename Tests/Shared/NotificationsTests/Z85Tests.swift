import Testing

@testable import Notifications

struct Z85Tests {
    @Test func `The text of ZeroMQ's RFC 32 is written as there`() {
        let bytes: [UInt8] = [0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b]
        #expect(String(decoding: Z85.encoded(bytes), as: UTF8.self) == "HelloWorld")
    }

    /// Worked out by hand: the rest is one big-endian number, in one digit more than bytes.
    @Test(
        arguments: [
            ([], ""), ([0], "00"), ([1], "01"), ([84], "0#"), ([85], "10"), ([255], "30"), ([0, 85], "010"),
            ([255, 255], "960"), ([0, 1, 0], "0031"), ([255, 255, 255], "rr90"), ([0, 0, 0, 0, 255], "0000030"),
        ] as [([UInt8], String)])
    func `The last one to three bytes are a number without padding`(_ bytes: [UInt8], _ text: String) {
        #expect(String(decoding: Z85.encoded(bytes), as: UTF8.self) == text)
    }

    @Test func `What is written is read again by a reader that shares nothing with the writer`() throws {
        var random = SystemRandomNumberGenerator()
        for count in Array(0...40) + [86, 1000, 4096] {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            let text = Z85.encoded(bytes)
            #expect(Z85.isEncoded(text))
            #expect(text.count == count / 4 * 5 + (count % 4 == 0 ? 0 : count % 4 + 1))
            #expect(try Self.decoded(String(decoding: text, as: UTF8.self)) == bytes, "\(count)")
        }
    }

    /// As an app's extension reads it.
    private static func decoded(_ text: String) throws -> [UInt8] {
        let digits = Array("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#")
        var bytes: [UInt8] = []
        var rest = Array(text)
        while !rest.isEmpty {
            let group = rest.prefix(5)
            rest.removeFirst(group.count)
            var number = 0
            for digit in group { number = try number * 85 + #require(digits.firstIndex(of: digit)) }
            for place in (0..<(group.count - 1)).reversed() { bytes.append(UInt8(number >> (8 * place) & 255)) }
        }
        return bytes
    }
}
