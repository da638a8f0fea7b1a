import BinaryAPI
import Connections
import Courier
import Delivery
import HTTP2
import Management
import ProviderAPI
package import Rates
import WebPush

extension Limit {
    /// Every limit that is counted.
    package static let all: [Limit] =
        ofConnections + ofHTTP2 + ofDelivery + ofChannels + ofProviderAPI + ofBinaryAPI + ofCourier
        + ofManagement + ofWebPush
}
