//! Matrices that the lanes of a warp hold together.

macro_rules! matrix_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `(a: address) -> b32 × matrices`: loads matrices of 8 rows of 8 elements of 16 bits. The
        /// access is that of a lane's row: eight lanes have the addresses of one matrix, lane 0
        /// that of the first row. Lane `4 r + c` gets the elements `2 c` and `2 c + 1` of row `r`.
        MatrixLoad {
            /// An access with one element of 16 bytes for each matrix.
            access: Access,
            /// Whether rows and columns are exchanged after the load.
            transposed: bool,
        } = "matrix_load" [access (transposed)] [] NONE (Address)
            -> [Results::Many(Type::B32, access.lanes)] { reads, convergent };
        /// `(a: address, b32 × matrices)`: the reverse.
        MatrixStore {
            /// An access with one element of 16 bytes for each matrix.
            access: Access,
            /// Whether rows and columns are exchanged before the store.
            transposed: bool,
        } = "matrix_store" [access (transposed)] [] NONE (Address) -> () { writes, convergent, ordered };
        /// `(a: b32) -> b32`: exchanges the rows and columns of a matrix of 8 rows of 8 elements of
        /// 16 bits.
        MatrixTranspose = "matrix_transpose" [] [] NONE (B32) -> (B32) { convergent };
        /// `(components of a, b and c [, places: b32]) -> components of d`: d = a · b + c. The
        /// [operands](crate::matrix::Parts) depend on the payload.
        MatrixProduct(product: Product) = "matrix_product" [product] [] NONE ()
            -> [Results::Many(product.sum_type.component(), product.of_sum() as u8)] { convergent } slow;
    } } };
}
