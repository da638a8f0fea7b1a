package import Rates

extension Limit {
    /// How often devices connect.
    package static let courierConnectRate = Limit("courier-connect-rate")

    package static let ofCourier: [Limit] = [.courierConnectRate]
}
