//! Rust: through closures, iterators and a boxed trait object.

unsafe extern "C" {
    fn take();
}

trait Shelf {
    fn put(&self, number: u64) -> u64;
}

struct Wood(u64);

impl Shelf for Wood {
    #[inline(never)]
    fn put(&self, number: u64) -> u64 {
        let sum: u64 = (0..number).map(|each| inner(each + self.0)).sum();
        std::hint::black_box(sum)
    }
}

#[inline(always)]
fn inner(number: u64) -> u64 {
    // SAFETY: `take` is a function of C in `take.c` without arguments or result, and asks nothing of its caller.
    unsafe { take() };
    std::hint::black_box(number) * 3
}

fn main() {
    let shelf: Box<dyn Shelf> = Box::new(Wood(std::env::args().count() as u64));
    let numbers: Vec<u64> = vec![3, 4];
    let sum: u64 = numbers.iter().map(|number| shelf.put(*number)).sum();
    std::process::exit(i32::from(sum == 1));
}
