package import Rates

extension Limit {
    /// The rate at which devices connect.
    package static let courierConnectRate = Limit("courier-connect-rate")

    package static let ofCourier: [Limit] = [.courierConnectRate]
}
