import Foundation
import Notifications

extension Data {
    /// Reads hexadecimal digits; empty if the text has other characters.
    init(hexadecimal digits: String) {
        self = Hexadecimal.bytes(digits).map { Data($0) } ?? Data()
    }
}
