import Delivery
import Notifications

/// What a device reports of itself, the body of `POST /1/state`.
struct ReportedState: Sendable, Hashable {
    /// The longest name of a software with its version, in bytes. It is shown on one line.
    static let maximumSoftwareBytes = 100

    var power: DevicePower
    /// The software that runs on the device, with its version; nil if the device does not say it.
    var software: String?

    /// - Returns: nil unless the body has `"power":"low"|"awake"|"charging"`. Other keys may be missing, and a software that
    ///   cannot be shown is left out.
    init?(_ body: [UInt8]) {
        guard let object = JSONObject(document: body),
            let power = object[text: "power"].flatMap(DevicePower.init(rawValue:))
        else {
            return nil
        }
        self.power = power
        software = object[text: "software"].flatMap { Self.isShowable($0) ? $0 : nil }
    }

    private static func isShowable(_ text: String) -> Bool {
        (1...maximumSoftwareBytes).contains(text.utf8.count)
            && !text.hasControlCharacters
    }
}
