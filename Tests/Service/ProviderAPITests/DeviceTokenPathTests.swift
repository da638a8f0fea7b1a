import NIOCore
import Testing

@testable import ProviderAPI

/// The path of a request, in whose last part is the device token in hexadecimal digits (Guide, Table 8-1).
struct DeviceTokenPathTests {
    private static let token = String(repeating: "5a", count: 32)

    private static func fault(_ path: String) -> String? {
        let request = ProviderRequest(began: .uptimeNanoseconds(0))
        request.read(.path, Array(path.utf8).span)
        return if case .badDeviceToken(let detail) = request.path { detail } else { nil }
    }

    /// What an app prints of its device token's data, as it comes or encoded by a client's library.
    @Test(arguments: [
        "<c63963fd fdafa1b9 5a5a5a5a 5a5a5a5a 5a5a5a5a 5a5a5a5a 5a5a5a5a 5a5a5a5a>",
        "{length = 32, bytes = 0xc63963fd fdafa1b9 5a5a5a5a 5a5a5a5a ... 5a5a5a5a 5a5a5a5a }",
        "{length=32,bytes=0xc63963fd}", "32 bytes", "32%20bytes", "%3Cc63963fd%20fdafa1b9%3E", "%7blength%20=%2032%7d",
    ])
    func `The description of a device token's data is recognised`(text: String) {
        #expect(Self.fault("/3/device/" + text)?.contains("the description of its data") == true)
    }

    @Test(arguments: [(token + " ", 65), (" " + token, 1), ("5a 5a", 3)])
    func `A blank is named with its place`(text: String, place: Int) {
        #expect(Self.fault("/3/device/" + text)?.contains("Character \(place) of the device token is a blank") == true)
    }

    @Test func `Another character is named with its place`() {
        #expect(
            Self.fault("/3/device/" + Self.token + "xyz")?.contains("Character 65 of the device token is not") == true)
        #expect(Self.fault("/3/device/" + Self.token) == nil)
        #expect(Self.fault("/3/device/" + Self.token + "/more") == nil)
    }
}
