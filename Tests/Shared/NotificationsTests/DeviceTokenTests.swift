import Notifications
import Testing

@Suite("Device tokens as text")
struct DeviceTokenTests {
    @Test
    func `Every byte is read, with digits in upper or lower case`() throws {
        for byte in UInt8.min...UInt8.max {
            let digits = Hexadecimal.string([byte])
            let expected = [UInt8](repeating: byte, count: DeviceToken.byteCount)
            let lower = String(repeating: digits, count: DeviceToken.byteCount)
            #expect(DeviceToken(lower)?.array == expected)
            #expect(DeviceToken(lower.uppercased())?.array == expected)
        }
    }

    @Test
    func `Any other character, in any place, is refused`() {
        let good = [UInt8](repeating: UInt8(ascii: "a"), count: 2 * DeviceToken.byteCount)
        for character in UInt8.min...UInt8.max where Hexadecimal.value(of: character) == nil {
            var digits = good
            digits[Int(character) % digits.count] = character
            #expect(DeviceToken(hexadecimal: digits.span) == nil, "\(character)")
        }
    }

    @Test(arguments: [32, 33, 80, 100])
    func `A device token may have up to 100 bytes, and any other byte makes another token`(count: Int) throws {
        let digits = String(repeating: "a", count: 2 * count)
        let token = try #require(DeviceToken(digits))
        #expect(token.count == count && token.description == digits)
        #expect(DeviceToken(token.array) == token)
        #expect(DeviceToken(String(digits.dropLast() + "b")) != token)
        #expect(DeviceToken(String(digits.dropLast() + "g")) == nil)
    }

    @Test(arguments: [0, 62, 63, 65, 201, 202, 400])
    func `Half a byte, too few or too many are refused`(count: Int) {
        #expect(DeviceToken(String(repeating: "a", count: count)) == nil)
    }
}
